import type { OpenAPIObject } from '@nestjs/swagger';
import { dump } from 'js-yaml';
import { MAX_INT64, MIN_INT64 } from '../http/int64';

/** The document as JSON, as it is served and kept in `openapi.json`. */
export function jsonText(document: OpenAPIObject): string {
  return exact(`${JSON.stringify(document, undefined, 2)}\n`);
}

/** The same as YAML. */
export function yamlText(document: OpenAPIObject): string {
  return exact(dump(document, { noRefs: true, lineWidth: -1 }));
}

/**
 * Writes the bounds of int64 out: JavaScript prints the numbers that stand for them rounded, and programs with an
 * int64 of their own refuse that as out of range. Nothing else in the document has these digits.
 */
function exact(text: string): string {
  return text
    .replaceAll(String(Number(MIN_INT64)), String(MIN_INT64))
    .replaceAll(String(Number(MAX_INT64)), String(MAX_INT64));
}
