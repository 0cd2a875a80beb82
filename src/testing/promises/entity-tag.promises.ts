import { IF_MATCH_HEADER, IF_NONE_MATCH_HEADER } from '../../platform/api-docs/request-headers';
import { entityTagOf } from '../../platform/http/entity-tag';
import { codeOf, isSuccess } from '../api';
import { type Operation, takesHeader } from '../api-document';
import type { TestResponse } from '../http-client';
import type { ApiPromise, OperationUnderTest } from './operation-under-test';

/** A tag of this form that no resource has. */
const OTHER_TAG = entityTagOf('another state');
const CURRENT = 'the current ETag';

/** `ETag`, `If-None-Match` and `If-Match` of each operation that has them in its document. */
export const entityTagPromises: readonly ApiPromise[] = [
  {
    title: 'the ETag of a response is the hash of its body, and gets 304 while nothing changes',
    appliesTo: ({ isAllowed }) => isAllowed,
    async check(tested) {
      const created = tested.isCreating && (await tested.resources.create(tested.operation));
      if (created) checkTag(tested, created.response);
      if (takesHeader(tested.operation, IF_NONE_MATCH_HEADER.name)) await checkRead(tested);
    },
  },
  {
    title: 'a change with the ETag of another state in If-Match gets 412 and changes nothing',
    appliesTo: ({ isAllowed }) => isAllowed,
    async check(tested) {
      const { operation, isThorough } = tested;
      if (takesHeader(operation, IF_MATCH_HEADER.name)) await checkChange(tested);
      else if (isThorough && /^(PUT|PATCH|DELETE)$/.test(operation.method)) await checkUndocumented(tested);
    },
  },
];

async function checkRead(tested: OperationUnderTest): Promise<void> {
  const tag = checkTag(tested, await tested.send());
  if (tag === undefined) return;
  const what = 'the ETag of its last response';
  const again = await tested.send({ headers: { [IF_NONE_MATCH_HEADER.name]: tag }, what });
  if (again.status === 304 && again.text === '' && again.headers.etag === tag) return;
  tested.noteResponse(again.status, `to ${what}`, '304. Return the same body while nothing changes');
}

/** The change is tried with a tag of another state, then with the current one. */
async function checkChange(tested: OperationUnderTest): Promise<void> {
  const { api, operation, resources } = tested;
  const read = tested.readAt(operation.path);
  const resource = await resources.createAt(operation.path);
  if (!read || !(resource || resources.isOwn(operation))) return;
  const path = resource?.path ?? tested.path;
  const before = await api.send(read, { path });
  if (!isSuccess(before)) return;
  const change = (tag: string | undefined, what: string) =>
    tested.sendExample({ path, headers: tag === undefined ? {} : { [IF_MATCH_HEADER.name]: tag }, what });
  const { status } = await change(OTHER_TAG, 'the ETag of another state');
  const after = await api.send(read, { path });
  const cause = 'to an If-Match of another state';
  if (status !== 412) {
    const advice = 'Compare with preconditionOf in the transaction of the change';
    tested.noteResponse(status, cause, `412. ${advice}`);
  } else if (before.text !== after.text) {
    tested.note(`responds 412 ${cause}, and changes the resource. Compare before the change`);
  } else if (operation.method !== 'DELETE') {
    await checkCurrentTag(tested, read, path, after, await change(after.headers.etag, CURRENT));
  } else if (resource) {
    await checkRemoval(tested, read, path, await change(after.headers.etag, CURRENT));
  }
}

async function checkCurrentTag(
  tested: OperationUnderTest,
  read: Operation,
  path: string,
  before: TestResponse,
  changed: TestResponse,
): Promise<void> {
  if (changed.status === 412) {
    const cause = 'Give preconditionOf the class of the response of GET, and its state';
    tested.note(`responds 412 to the current ETag in If-Match. ${cause}`);
  }
  if (tested.operation.success) checkTag(tested, changed);
  if (!isSuccess(changed) || changed.text === before.text) return;
  const headers = { [IF_NONE_MATCH_HEADER.name]: String(before.headers.etag) };
  const what = 'the ETag before a change';
  const again = await tested.api.send(read, { path, headers, what });
  if (again.status === 304) tested.api.note(read.title, `responds 304 to ${what}`);
}

/** A removal with the current tag removes: afterwards the resource is unknown. */
async function checkRemoval(
  tested: OperationUnderTest,
  read: Operation,
  path: string,
  removed: TestResponse,
) {
  if (!isSuccess(removed)) {
    tested.note(`responds ${removed.status} to the current ETag in If-Match`);
    return;
  }
  tested.resources.forget(path);
  const { status } = await tested.api.send(read, { path, what: 'a removed resource' });
  if (status !== 404) tested.note(`responds ${removed.status}, and GET then responds ${status}`);
}

/** A change that compares without saying so in its document. */
async function checkUndocumented(tested: OperationUnderTest): Promise<void> {
  const resource = await tested.resources.createAt(tested.operation.path);
  const path = resource?.path ?? tested.path;
  const response = await tested.sendExample({ path, headers: { [IF_MATCH_HEADER.name]: OTHER_TAG } });
  if (codeOf(response) !== 'precondition_failed') return;
  tested.note('compares If-Match, and its document lacks it. Add conditional to @Operation');
}

/** @returns the tag of a success; undefined if it has none, or another one than the hash of its body */
function checkTag(tested: OperationUnderTest, response: TestResponse): string | undefined {
  const { etag } = response.headers;
  if (!isSuccess(response) || etag === undefined) return undefined;
  if (etag === entityTagOf(response.text)) return etag;
  tested.note('has an ETag that is not the hash of its body. The store sets the ETag');
  return undefined;
}
