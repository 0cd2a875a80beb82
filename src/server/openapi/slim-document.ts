import type { OpenAPIObject, OperationObject } from '@nestjs/swagger';
import { commonHeaders, responseHeaders } from '../../platform/api-docs/header-catalogue';
import { platformErrors } from '../../platform/errors/platform.errors';
import { type Codes, operationsOf, rejectedCodes } from './codes';
import { listOf } from './responses';

/** True for a code that the text has once. Its example in an operation would be that of any other. */
function isShared({ code, on }: Codes[number]): boolean {
  return code !== platformErrors.validation_failed.code && (typeof on === 'string' || code in platformErrors);
}

const PASTE = 'Paste the API key without "Bearer": `ask_live_…` in production, `ask_test_…` elsewhere.';

const KEY = 'Press Authorize and paste your API key. The key is kept for this tab only, until you close it.';

/**
 * Returns the document as Swagger UI shows it. An operation has its successful response and its own errors, with one
 * example for each status. The text has the common headers and errors once, in folded sections.
 */
export function slimDocument(document: OpenAPIObject, codes: Codes): OpenAPIObject {
  const {
    info,
    paths,
    components: { schemas = {}, securitySchemes = {} } = {},
    ...others
  } = structuredClone(document);
  for (const operation of operationsOf(paths)) {
    const parameters = (operation.parameters ?? []).filter((each) => 'in' in each);
    // Swagger UI would send an example with every request. Browsers add `If-None-Match`.
    for (const each of parameters) {
      for (const node of [each, each.schema ?? {}]) Reflect.deleteProperty(node, 'example');
    }
    operation.parameters = parameters.filter(({ name }) => name !== 'If-None-Match');
    const success = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
    for (const [, response = {}] of success) Reflect.deleteProperty(response, 'headers');
    operation.responses = { ...Object.fromEntries(success), ...errorsOf(operation, codes) };
  }
  for (const schema of Object.values(schemas)) {
    if (!('properties' in schema)) Reflect.deleteProperty(schema, 'example');
    else if ('minProperties' in schema) schema.example = firstOf(schema.example);
  }
  for (const scheme of Object.values(securitySchemes)) Object.assign(scheme, { description: PASTE });
  const description = folded(info.description ?? '', codes);
  return { ...others, info: { ...info, description }, paths, components: { schemas, securitySchemes } };
}

/** Leaves one member in the example of a change: Swagger UI sends it, also if it was not read. */
function firstOf(example: object): object {
  return Object.fromEntries(Object.entries(example).slice(0, 1));
}

function errorsOf(operation: OperationObject, codes: Codes): OperationObject['responses'] {
  const rejected = rejectedCodes(operation, codes).filter((each) => !isShared(each));
  const entries = rejected.map((any) => {
    const group = rejected.filter(({ status }) => status === any.status);
    const usual = group.find((each) => each.code === 'validation_failed') ?? group[0] ?? any;
    const { code, status, example: message } = usual;
    const schema = { $ref: '#/components/schemas/Error' };
    const content = { 'application/json': { schema, example: { code, message, status } } };
    return [status, { description: listOf(group), content }] as const;
  });
  return Object.fromEntries(entries);
}

/** Folds the sections of the text, so that the first operation is visible without scrolling. */
function folded(text: string, codes: Codes): string {
  const [introduction = '', ...sections] = text.split('\n\n## ');
  const common = responseHeaders.filter(({ name }) => commonHeaders.includes(name));
  const headers = common.map(({ name, description }) => `- \`${name}\`: ${description}`);
  const errors = codes.filter(isShared).map(({ status, code, when }) => `- ${status} \`${code}\`: ${when}.`);
  const details = [
    ...sections,
    ['Headers of every response', headers.join('\n')].join('\n\n'),
    ['Errors of all operations', errors.join('\n')].join('\n\n'),
  ].map((section) => section.replace(/^(.*)/, '<details><summary>$1</summary>') + '\n\n</details>');
  return [introduction, '## Try it', KEY, ...details].join('\n\n');
}
