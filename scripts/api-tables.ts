import type { OpenAPIObject } from '@nestjs/swagger';
import { createStore } from '../src/app/store';
import { findOperation } from '../src/api/operation/operation.decorator';
import { ANY_KEY } from '../src/api/routes/route-facts';
import { OpenApiDocument } from '../src/api/openapi/document';

type Row = readonly string[];

/** Builds `docs/errors.md`: a line for each code of this document. */
export function errorsPage(document: OpenAPIObject): string {
  const codes = new OpenApiDocument(document).codes();
  const lines = codes.map(({ status, code, when }) => `- ${status} \`${code}\`: ${when}`);
  return `# Error codes

<!-- Written by npm run -s openapi. -->

Each error has the body \`{"code", "message", "status"}\`.

${lines.join('\n')}

Operations of extensions may have generic codes, such as \`bad_request\` or \`conflict\`. Handle a code that you do not know by its status.
`;
}

/** Returns `docs/guide.md` with the table of scopes between the comments `<!-- scopes: … -->` and `<!-- /scopes -->`. */
export function withScopes(page: string, document: OpenAPIObject): string {
  const ids = new OpenApiDocument(document).operations.map(({ operationId = '' }) => operationId);
  const idsOf = (scope: string) =>
    ids.filter((id) => [findOperation(id)?.scope].flat().some((each) => each === scope)).join(', ');
  const rows = createStore().scopes.map((scope) => [`\`${scope}\``, idsOf(scope)]);
  const table = tableOf([['scope', 'operations'], ...rows, ['every key', idsOf(ANY_KEY)]]);
  const place = /(<!-- scopes: .*-->\n\n)[^]*?(\n\n<!-- \/scopes -->)/;
  if (!place.test(page)) throw new Error('docs/guide.md has no comments for the table of scopes');
  return page.replace(place, (_, begin: string, end: string) => begin + table + end);
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
