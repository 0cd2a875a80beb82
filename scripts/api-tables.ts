import type { OpenAPIObject } from '@nestjs/swagger';
import { createStore } from '../src/app/store';
import { findOperation } from '../src/platform/api-docs/operation.decorator';
import { ANY_KEY, type RequiredScope } from '../src/platform/api-docs/required-scopes';
import { codesOf, operationsOf } from '../src/server/openapi/codes';

type Row = readonly string[];

/** Returns `docs/api.md` with the tables of scopes and of error codes of this document. */
export function withApiTables(page: string, { paths }: OpenAPIObject): string {
  const tables = { scopes: scopeRows(paths), codes: codeRows(paths) };
  return Object.entries(tables).reduce((text, [name, rows]) => replaceTable(text, name, rows), page);
}

function scopeRows(paths: OpenAPIObject['paths']): Row[] {
  const ids = operationsOf(paths).map(({ operationId = '' }) => operationId);
  const idsOf = (scope: RequiredScope) =>
    ids.filter((id) => [findOperation(id)?.scope].flat().some((each) => each === scope)).join(', ');
  const rows = createStore().scopes.map((scope) => [`\`${scope}\``, idsOf(scope)]);
  return [['scope', 'operations'], ...rows, ['every key', idsOf(ANY_KEY)]];
}

function codeRows(paths: OpenAPIObject['paths']): Row[] {
  const rows = codesOf(paths).map(({ status, code, when }) => [String(status), `\`${code}\``, when]);
  return [['status', '`code`', 'when'], ...rows];
}

/** Replaces what is between the comments `<!-- name: … -->` and `<!-- /name -->`. */
function replaceTable(page: string, name: string, rows: readonly Row[]): string {
  const place = new RegExp(`(<!-- ${name}: .*-->\n\n)[^]*?(\n\n<!-- /${name} -->)`);
  if (!place.test(page)) throw new Error(`docs/api.md has no comments for the table of ${name}`);
  return page.replace(place, (_, begin: string, end: string) => begin + tableOf(rows) + end);
}

/** Prints a table of Markdown, aligned as prettier does. */
function tableOf(rows: readonly Row[]): string {
  const [head = [], ...others] = rows;
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const rule = widths.map((width) => '-'.repeat(width));
  return [head, rule, ...others]
    .map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`)
    .join('\n');
}
