import type { OpenAPIObject } from '@nestjs/swagger';
import { DUMP_SCHEMA, dump, intCoreTag } from 'js-yaml';
import { stringify } from 'lossless-json';

/** The schema of js-yaml, whose integers may be a bigint. */
const EXACT_SCHEMA = DUMP_SCHEMA.withTags({
  ...intCoreTag,
  identify: (value) => typeof value === 'bigint' || intCoreTag.identify(value),
  represent: String,
});

/** Prints the document as JSON, for `/openapi.json` and the committed file. An integer may be a bigint. */
export function jsonText(document: OpenAPIObject): string {
  return `${stringify(document, undefined, 2)}\n`;
}

/** Prints the document as YAML. */
export function yamlText(document: OpenAPIObject): string {
  return dump(document, { schema: EXACT_SCHEMA, noRefs: true, lineWidth: -1 });
}
