import type { Operation } from './api-document';
import type { Probe } from './probe';
import { exampleOf, resolved } from './schema';

/** Statuses of success without a body (RFC 9110, 15.3). */
const WITHOUT_BODY: ReadonlySet<string> = new Set(['204', '205']);

/** Checks the document without a request: tags, ids, descriptions, responses and examples. */
export function checkDocument(probe: Probe): void {
  checkTags(probe);
  checkIds(probe);
  checkSchemas(probe);
  for (const operation of probe.api.operations) {
    checkDescriptions(probe, operation);
    checkSuccess(probe, operation);
    checkExample(probe, operation);
  }
}

function checkTags(probe: Probe): void {
  const { operations, object } = probe.api;
  const declared = object.tags.map(({ name }) => name);
  const used = new Set(operations.flatMap((each) => each.object.tags ?? []));
  for (const { title, object: operation } of operations) {
    const { tags = [] } = operation;
    if (tags.length === 0) probe.note(title, 'has no tag. Add @ApiTags to its controller');
    for (const tag of tags.filter((each) => !declared.includes(each))) {
      probe.note(title, `has the tag ${tag}, which no extension declares. Add it to tags of the extension`);
    }
  }
  for (const tag of declared.filter((each) => !used.has(each))) {
    probe.note(`The tag ${tag}`, 'has no operation');
  }
}

/** The start rejects an id of two operations. */
function checkIds(probe: Probe): void {
  for (const { title, object } of probe.api.operations) {
    if (object.operationId === undefined) probe.note(title, 'has no operationId. Declare it with @Operation');
  }
}

function checkSchemas(probe: Probe): void {
  const { schemas } = probe.api;
  for (const [name, { description, properties = {} }] of Object.entries(schemas)) {
    if (isBlank(description)) probe.note(`The schema ${name}`, 'has no description. Add it with @ApiSchema');
    for (const [member, schema] of Object.entries(properties)) {
      if (isBlank(resolved(schema, schemas).description)) {
        probe.note(`${name}.${member}`, 'has no description');
      }
    }
  }
}

function checkDescriptions(probe: Probe, { title, object, parameters }: Operation): void {
  if (isBlank(object.summary)) probe.note(title, 'has no summary. Declare it with @Operation');
  if (isBlank(object.description)) probe.note(title, 'has no description. Declare it with @Operation');
  for (const { name } of parameters.filter((each) => isBlank(each.description))) {
    probe.note(title, `has the parameter ${name} without a description`);
  }
}

function checkSuccess(probe: Probe, { title, object, success }: Operation): void {
  const statuses = Object.keys(object.responses).filter((status) => status.startsWith('2'));
  const withBody = statuses.find(
    (status) => WITHOUT_BODY.has(status) && object.responses[status]?.content !== undefined,
  );
  if (withBody !== undefined) probe.note(title, `documents a body of ${withBody}, which has none`);
  if (statuses.length === 0) probe.note(title, 'documents no successful response');
  else if (success === undefined && !statuses.every((status) => WITHOUT_BODY.has(status))) {
    probe.note(title, 'documents no body of its successful response. Declare it with returns of @Operation');
  }
}

/** A client copies the example of a body. */
function checkExample(probe: Probe, { title, body }: Operation): void {
  if (body === undefined) return;
  const { api } = probe;
  const example = exampleOf(body, api.schemas);
  for (const { pointer, rule } of api.errors(body, example)) {
    probe.note(title, `has an example of its body that differs from its schema: body ${pointer} ${rule}`);
  }
}

function isBlank(text: string | undefined): boolean {
  return text === undefined || text.trim() === '';
}
