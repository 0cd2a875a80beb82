import type { Api } from '../api';
import type { Operation, Schema } from '../api-document';
import type { ApiPromise } from './promise';

/** Statuses of success without a body (RFC 9110, 15.3). */
const WITHOUT_BODY: ReadonlySet<string> = new Set(['204', '205']);

/** Tags, ids, descriptions, responses and examples, without a request. */
export const documentPromise: ApiPromise = {
  title: 'the document describes each operation, parameter and schema',
  needs: 'test store',
  check: checkDocument,
};

function checkDocument(api: Api): void {
  checkTags(api);
  checkSchemas(api);
  for (const operation of api.operations) {
    checkDescriptions(api, operation);
    checkSuccess(api, operation);
    checkExample(api, operation);
  }
}

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

function checkDescriptions(api: Api, { title, object, parameters }: Operation): void {
  if (object.operationId === undefined) api.note(title, 'has no operationId. Declare it with @Operation');
  if (isBlank(object.summary)) api.note(title, 'has no summary. Declare it with @Operation');
  if (isBlank(object.description)) api.note(title, 'has no description. Declare it with @Operation');
  for (const { name } of parameters.filter((each) => isBlank(each.description))) {
    api.note(title, `has the parameter ${name} without a description`);
  }
}

function checkSuccess(api: Api, { title, object, success }: Operation): void {
  const statuses = Object.keys(object.responses).filter((status) => status.startsWith('2'));
  const withBody = statuses.find(
    (status) => WITHOUT_BODY.has(status) && object.responses[status]?.content !== undefined,
  );
  if (withBody !== undefined) api.note(title, `documents a body of ${withBody}, which has none`);
  if (statuses.length === 0) api.note(title, 'documents no successful response');
  else if (success === undefined && !statuses.every((status) => WITHOUT_BODY.has(status))) {
    api.note(title, 'documents no body of its successful response. Declare it with returns of @Operation');
  }
}

/** A client copies the example of a body. */
function checkExample(api: Api, { title, body }: Operation): void {
  if (body === undefined) return;
  for (const { pointer, rule } of api.document.errors(body, api.document.exampleOf(body))) {
    api.note(title, `has an example of its body that differs from its schema: body ${pointer} ${rule}`);
  }
}

function isBlank(text: string | undefined): boolean {
  return text === undefined || text.trim() === '';
}
