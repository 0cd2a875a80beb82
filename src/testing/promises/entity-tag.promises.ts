import { IF_MATCH_HEADER, IF_NONE_MATCH_HEADER } from '../../platform/api-docs/request-headers';
import { entityTagOf } from '../../platform/http/entity-tag';
import type { TestResponse } from '../http-client';
import { type Operation, operationAt, takesHeader } from './api-document';
import { isSuccess, type Probe } from './probe';
import type { Resources } from './resources';

/** A tag of this form that no resource has. */
const OTHER_TAG = entityTagOf('another state');

/** Checks `ETag`, `If-None-Match` and `If-Match` of each operation that has them in its document. */
export async function checkEntityTags(probe: Probe, resources: Resources): Promise<void> {
  for (const operation of probe.api.operations) {
    if (operation.method === 'POST') await checkCreation(probe, resources, operation);
    if (takesHeader(operation, IF_NONE_MATCH_HEADER.name)) await checkRead(probe, resources, operation);
    if (takesHeader(operation, IF_MATCH_HEADER.name)) await checkChange(probe, resources, operation);
  }
}

async function checkCreation(probe: Probe, resources: Resources, operation: Operation): Promise<void> {
  const created = await resources.create(operation);
  if (created) checkTag(probe, operation, created.response);
}

async function checkRead(probe: Probe, resources: Resources, operation: Operation): Promise<void> {
  const path = resources.pathOf(operation);
  const read = await probe.send(operation, { path });
  const tag = checkTag(probe, operation, read);
  if (tag === undefined) return;
  const headers = { [IF_NONE_MATCH_HEADER.name]: tag };
  const again = await probe.send(operation, { path, headers, what: 'the ETag of its last response' });
  if (again.status === 304 && again.text === '') return;
  const problem = `responds ${again.status} to the ETag of its last response, and must respond 304`;
  probe.note(operation.title, `${problem}. Return the same body while nothing changes`);
}

/** The change is tried with a tag of another state, then with the current one. */
async function checkChange(probe: Probe, resources: Resources, operation: Operation): Promise<void> {
  const read = operationAt(probe.api, 'GET', operation.path);
  if (!read) return;
  const id = await newId(probe, resources, operation);
  const path = resources.pathOf(operation, id);
  const before = await probe.send(read, { path });
  if (!isSuccess(before)) return;
  const change = (tag: string | undefined, what: string) =>
    probe.send(operation, {
      path,
      body: resources.newBody(operation),
      headers: tag === undefined ? {} : { [IF_MATCH_HEADER.name]: tag },
      what,
    });
  const { status } = await change(OTHER_TAG, 'the ETag of another state');
  const after = await probe.send(read, { path });
  const problem = problemOf(status, before, after);
  if (problem !== undefined) {
    probe.note(operation.title, problem);
    return;
  }
  if (operation.method === 'DELETE' && id === undefined) return;
  const changed = await change(after.headers.etag, 'the current ETag');
  if (changed.status === 412) {
    const cause = 'Give preconditionOf the class of the response of GET, and its state';
    probe.note(operation.title, `responds 412 to the current ETag in If-Match. ${cause}`);
  }
  if (operation.success) checkTag(probe, operation, changed);
}

/** Returns the problem of a change that was sent with the tag of another state. */
function problemOf(status: number, before: TestResponse, after: TestResponse): string | undefined {
  if (status !== 412) {
    const cause = 'Compare with preconditionOf in the transaction of the change';
    return `responds ${status} to an If-Match of another state, and must respond 412. ${cause}`;
  }
  if (before.text === after.text) return undefined;
  return 'responds 412 to an If-Match of another state, and changes the resource. Compare before the change';
}

/** Creates a resource for a change. @returns undefined if no operation creates one now */
async function newId(probe: Probe, resources: Resources, { path }: Operation): Promise<string | undefined> {
  const creating = operationAt(probe.api, 'POST', path.replace(/\/\{\w+\}$/, ''));
  const created = creating && (await resources.create(creating));
  return created?.response.headers.location?.split('/').at(-1);
}

/** @returns the tag of a success; undefined if it has none, or another one than the hash of its body */
function checkTag(probe: Probe, operation: Operation, response: TestResponse): string | undefined {
  const { etag } = response.headers;
  if (!isSuccess(response) || etag === undefined) return undefined;
  if (etag === entityTagOf(response.text)) return etag;
  const problem = 'has an ETag that is not the hash of its body. The store sets the ETag';
  probe.note(operation.title, problem);
  return undefined;
}
