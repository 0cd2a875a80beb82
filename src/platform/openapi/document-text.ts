import type { OpenAPIObject } from '@nestjs/swagger';
import { dump } from 'js-yaml';
import { MAX_INT64, MIN_INT64 } from '../http/int64';

/** Prints the document as JSON, for `/openapi.json` and the committed file. */
export function jsonText(document: OpenAPIObject): string {
  return exact(`${JSON.stringify(document, undefined, 2)}\n`);
}

/** Prints the document as YAML. */
export function yamlText(document: OpenAPIObject): string {
  return exact(dump(document, { noRefs: true, lineWidth: -1 }));
}

/**
 * Writes the bounds of int64 exactly. JavaScript prints the numbers rounded, and programs with an int64 type reject the
 * rounded ones as out of range. The document has these digits nowhere else.
 */
function exact(text: string): string {
  return text
    .replaceAll(String(Number(MIN_INT64)), String(MIN_INT64))
    .replaceAll(String(Number(MAX_INT64)), String(MAX_INT64));
}
