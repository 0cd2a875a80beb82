import type { Api } from '../api';
import type { Schema } from '../api-document';
import type { ApiPromise, OperationUnderTest } from './operation-under-test';

/** Statuses of success without a body (RFC 9110, 15.3). */
const WITHOUT_BODY: ReadonlySet<string> = new Set(['204', '205']);

/** Tags, ids, descriptions, responses and examples, without a request. */
export const documentPromise: ApiPromise = {
  title: 'the document describes each operation, parameter and schema',
  needs: 'test store',
  checkStore(api) {
    checkTags(api);
    checkSchemas(api);
  },
  check(tested) {
    checkDescriptions(tested);
    checkSuccess(tested);
    checkExample(tested);
  },
};

function checkTags(api: Api): void {
  const {
    operations,
    document: { object },
  } = api;
  const declared = object.tags.map(({ name }) => name);
  const used = new Set(api.document.operations.flatMap((each) => each.object.tags ?? []));
  for (const { title, object: operation } of operations) {
    const { tags = [] } = operation;
    if (tags.length === 0) api.note(title, 'has no tag. Add @ApiTags to its controller');
    for (const tag of tags.filter((each) => !declared.includes(each))) {
      api.note(title, `has the tag ${tag}, which no extension declares. Add it to tags of the extension`);
    }
  }
  for (const tag of declared.filter((each) => !used.has(each))) {
    api.note(`The tag ${tag}`, 'has no operation');
  }
}

function checkSchemas(api: Api): void {
  const { document } = api;
  const { schemas } = document.object.components;
  for (const [name, { description, properties = {} }] of Object.entries<Schema>(schemas)) {
    if (isBlank(description)) api.note(`The schema ${name}`, 'has no description. Add it with @ApiSchema');
    for (const [member, schema] of Object.entries(properties)) {
      if (isBlank(document.schema(schema).description)) {
        api.note(`${name}.${member}`, 'has no description');
      }
    }
  }
}

function checkDescriptions(tested: OperationUnderTest): void {
  const { object, parameters } = tested.operation;
  if (object.operationId === undefined) tested.note('has no operationId. Declare it with @Operation');
  if (isBlank(object.summary)) tested.note('has no summary. Declare it with @Operation');
  if (isBlank(object.description)) tested.note('has no description. Declare it with @Operation');
  for (const { name } of parameters.filter((each) => isBlank(each.description))) {
    tested.note(`has the parameter ${name} without a description`);
  }
}

function checkSuccess(tested: OperationUnderTest): void {
  const { object, success } = tested.operation;
  const statuses = Object.keys(object.responses).filter((status) => status.startsWith('2'));
  const empty = statuses.filter((status) => WITHOUT_BODY.has(status));
  const withBody = empty.find((status) => object.responses[status]?.content !== undefined);
  if (withBody !== undefined) tested.note(`documents a body of ${withBody}, which has none`);
  if (statuses.length === 0) tested.note('documents no successful response');
  else if (success === undefined && empty.length < statuses.length) {
    tested.note('documents no body of its successful response. Declare it with returns of @Operation');
  }
}

/** A client copies the example of a body. */
function checkExample(tested: OperationUnderTest): void {
  const { document, operation } = tested;
  if (operation.body === undefined) return;
  for (const { pointer, rule } of document.errors(operation.body, document.exampleOf(operation.body))) {
    tested.note(`has an example of its body that differs from its schema: body ${pointer} ${rule}`);
  }
}

function isBlank(text: string | undefined): boolean {
  return text === undefined || text.trim() === '';
}
