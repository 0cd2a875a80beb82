import { IF_MATCH_HEADER, IF_NONE_MATCH_HEADER } from '../../platform/api-docs/request-headers';
import { entityTagOf } from '../../platform/http/entity-tag';
import { type Api, codeOf, isSuccess } from '../api';
import { type Operation, takesHeader } from '../api-document';
import type { TestResponse } from '../http-client';
import type { Resources } from '../resources';
import type { ApiPromise } from './promise';

/** A tag of this form that no resource has. */
const OTHER_TAG = entityTagOf('another state');

/** `ETag`, `If-None-Match` and `If-Match` of each operation that has them in its document. */
export const entityTagPromises: readonly ApiPromise[] = [
  {
    title: 'the ETag of a response is the hash of its body, and gets 304 while nothing changes',
    async check(api, resources) {
      for (const operation of api.operations.filter((each) => api.may(each))) {
        if (resources.creating.includes(operation)) {
          const created = await resources.create(operation);
          if (created) checkTag(api, operation, created.response);
        }
        if (takesHeader(operation, IF_NONE_MATCH_HEADER.name)) await checkRead(api, resources, operation);
      }
    },
  },
  {
    title: 'a change with the ETag of another state in If-Match gets 412 and changes nothing',
    async check(api, resources) {
      for (const operation of api.operations.filter((each) => api.may(each))) {
        if (takesHeader(operation, IF_MATCH_HEADER.name)) await checkChange(api, resources, operation);
        else if (/^(PUT|PATCH|DELETE)$/.test(operation.method))
          await checkUndocumented(api, resources, operation);
      }
    },
  },
];

async function checkRead(api: Api, resources: Resources, operation: Operation): Promise<void> {
  const path = resources.pathOf(operation);
  const tag = checkTag(api, operation, await api.send(operation, { path }));
  if (tag === undefined) return;
  const headers = { [IF_NONE_MATCH_HEADER.name]: tag };
  const again = await api.send(operation, { path, headers, what: 'the ETag of its last response' });
  if (again.status === 304 && again.text === '' && again.headers.etag === tag) return;
  const problem = `responds ${again.status} to the ETag of its last response, and must respond 304`;
  api.note(operation.title, `${problem}. Return the same body while nothing changes`);
}

/** The change is tried with a tag of another state, then with the current one. */
async function checkChange(api: Api, resources: Resources, operation: Operation): Promise<void> {
  const read = api.document.at('GET', operation.path);
  const resource = await resources.createAt(operation.path);
  if (!read || !api.may(read) || !(resource || resources.isOwn(operation))) return;
  const path = resource?.path ?? resources.pathOf(operation);
  const before = await api.send(read, { path });
  if (!isSuccess(before)) return;
  const change = (tag: string | undefined, what: string) => {
    const headers = tag === undefined ? {} : { [IF_MATCH_HEADER.name]: tag };
    return api.send(operation, { path, body: resources.newBody(operation), headers, what });
  };
  const { status } = await change(OTHER_TAG, 'the ETag of another state');
  const after = await api.send(read, { path });
  const problem = problemOf(status, before, after);
  if (problem !== undefined) {
    api.note(operation.title, problem);
    return;
  }
  if (operation.method === 'DELETE') {
    if (resource) await checkRemoval(api, resources, operation, read, path, after);
    return;
  }
  const changed = await change(after.headers.etag, 'the current ETag');
  if (changed.status === 412) {
    const cause = 'Give preconditionOf the class of the response of GET, and its state';
    api.note(operation.title, `responds 412 to the current ETag in If-Match. ${cause}`);
  }
  if (operation.success) checkTag(api, operation, changed);
  if (!isSuccess(changed) || changed.text === after.text) return;
  const headers = { [IF_NONE_MATCH_HEADER.name]: String(after.headers.etag) };
  const again = await api.send(read, { path, headers, what: 'the ETag before a change' });
  if (again.status === 304) api.note(read.title, 'responds 304 to the ETag before a change');
}

/** A removal with the current tag removes: afterwards the resource is unknown. */
async function checkRemoval(
  api: Api,
  resources: Resources,
  operation: Operation,
  read: Operation,
  path: string,
  { headers }: TestResponse,
): Promise<void> {
  const current = { [IF_MATCH_HEADER.name]: String(headers.etag) };
  const removed = await api.send(operation, { path, headers: current, what: 'the current ETag' });
  if (!isSuccess(removed)) {
    api.note(operation.title, `responds ${removed.status} to the current ETag in If-Match`);
    return;
  }
  resources.forget(path);
  const gone = await api.send(read, { path, what: 'a removed resource' });
  if (gone.status !== 404)
    api.note(operation.title, `responds ${removed.status}, and GET then responds ${gone.status}`);
}

/** A change that compares without saying so in its document. */
async function checkUndocumented(api: Api, resources: Resources, operation: Operation): Promise<void> {
  if (!api.isThorough) return;
  const resource = await resources.createAt(operation.path);
  const path = resource?.path ?? resources.pathOf(operation);
  const headers = { [IF_MATCH_HEADER.name]: OTHER_TAG };
  const response = await api.send(operation, { path, body: resources.newBody(operation), headers });
  if (codeOf(response) !== 'precondition_failed') return;
  api.note(operation.title, 'compares If-Match, and its document lacks it. Add conditional to @Operation');
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

/** @returns the tag of a success; undefined if it has none, or another one than the hash of its body */
function checkTag(api: Api, operation: Operation, response: TestResponse): string | undefined {
  const { etag } = response.headers;
  if (!isSuccess(response) || etag === undefined) return undefined;
  if (etag === entityTagOf(response.text)) return etag;
  api.note(operation.title, 'has an ETag that is not the hash of its body. The store sets the ETag');
  return undefined;
}
