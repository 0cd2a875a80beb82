import type { Schema } from '../api-document';
import type { ApiPromise, OperationUnderTest } from './operation-under-test';

/** Tags, ids, descriptions, responses and examples, without a request. */
export const documentPromise: ApiPromise = {
  title: 'the document describes each operation, parameter and schema',
  needs: 'test store',
  check,
};

function check(tested: OperationUnderTest): void {
  const { api, document, operation } = tested;
  const { object, parameters, body } = operation;
  const { operationId, summary, description, tags = [] } = object;
  const declared = new Set(document.object.tags.map(({ name }) => name));
  for (const tag of tags.filter((each) => !declared.has(each))) {
    tested.note(`has the tag ${tag}, which no extension declares. Add it to tags of the extension`);
  }
  for (const [name, text] of Object.entries({ operationId, summary, description })) {
    if (isBlank(text)) tested.note(`has no ${name}. Declare it with @Operation`);
  }
  for (const { name } of parameters.filter((each) => isBlank(each.description))) {
    tested.note(`has the parameter ${name} without a description`);
  }
  for (const [name, schema] of Object.entries<Schema>(document.object.components.schemas)) {
    if (isBlank(schema.description)) api.note(`The schema ${name}`, 'has no description');
    for (const [member, each] of Object.entries(schema.properties ?? {})) {
      if (isBlank(document.schema(each).description)) api.note(`${name}.${member}`, 'has no description');
    }
  }
  // Responses without a body (RFC 9110, 15.3).
  const withBody = ['204', '205'].find((status) => object.responses[status]?.content !== undefined);
  if (withBody !== undefined) tested.note(`documents a body of ${withBody}, which has none`);
  // A client copies the example of a body.
  for (const { where, rule } of body ? document.errors(body, document.exampleOf(body)) : []) {
    tested.note(`has an example of its body that differs from its schema: body ${where} ${rule}`);
  }
}

function isBlank(text: string | undefined): boolean {
  return text === undefined || text.trim() === '';
}
