import type { Api } from '../api';
import type { Schema } from '../api-document';
import type { ApiPromise, OperationUnderTest } from './operation-under-test';

/** Tags, ids, descriptions, responses and examples, without a request. */
export const documentPromise: ApiPromise = {
  title: 'the document describes each operation, parameter and schema',
  needs: 'test store',
  checkStore,
  check,
};

function checkStore({ document, note }: Api): void {
  const { components, tags } = document.object;
  const used = new Set(document.operations.flatMap((each) => each.object.tags ?? []));
  for (const { name } of tags) if (!used.has(name)) note(`The tag ${name}`, 'has no operation');
  for (const [name, { description, properties = {} }] of Object.entries<Schema>(components.schemas)) {
    if (isBlank(description)) note(`The schema ${name}`, 'has no description. Add it with @ApiSchema');
    for (const [member, schema] of Object.entries(properties)) {
      if (isBlank(document.schema(schema).description)) note(`${name}.${member}`, 'has no description');
    }
  }
}

function check(tested: OperationUnderTest): void {
  const { document, operation } = tested;
  const { object, parameters, body, success } = operation;
  const { operationId, summary, description, tags = [] } = object;
  const declared = new Set(document.object.tags.map(({ name }) => name));
  if (tags.length === 0) tested.note('has no tag. Add @ApiTags to its controller');
  for (const tag of tags.filter((each) => !declared.has(each))) {
    tested.note(`has the tag ${tag}, which no extension declares. Add it to tags of the extension`);
  }
  for (const [name, text] of Object.entries({ operationId, summary, description })) {
    if (isBlank(text)) tested.note(`has no ${name}. Declare it with @Operation`);
  }
  for (const { name } of parameters.filter((each) => isBlank(each.description))) {
    tested.note(`has the parameter ${name} without a description`);
  }
  const statuses = Object.keys(object.responses).filter((status) => status.startsWith('2'));
  // Responses without a body (RFC 9110, 15.3).
  const empty = statuses.filter((status) => status === '204' || status === '205');
  const withBody = empty.find((status) => object.responses[status]?.content !== undefined);
  if (withBody !== undefined) tested.note(`documents a body of ${withBody}, which has none`);
  if (statuses.length === 0) tested.note('documents no successful response');
  else if (success === undefined && empty.length < statuses.length) {
    tested.note('documents no body of its successful response. Declare it with returns of @Operation');
  }
  // A client copies the example of a body.
  for (const { where, rule } of body ? document.errors(body, document.exampleOf(body)) : []) {
    tested.note(`has an example of its body that differs from its schema: body ${where} ${rule}`);
  }
}

function isBlank(text: string | undefined): boolean {
  return text === undefined || text.trim() === '';
}
