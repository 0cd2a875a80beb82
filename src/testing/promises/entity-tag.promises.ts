import { IF_MATCH_HEADER, IF_NONE_MATCH_HEADER } from '../../platform/api-docs/request-headers';
import { entityTagOf } from '../../platform/entity-tags/entity-tag';
import { isSuccess } from '../api';
import { takesHeader } from '../api-document';
import type { TestResponse } from '../http-client';
import type { ApiPromise, OperationUnderTest } from './operation-under-test';

const ifMatch = (tag: string) => ({ [IF_MATCH_HEADER.name]: tag });
const ifNoneMatch = (tag: string) => ({ [IF_NONE_MATCH_HEADER.name]: tag });
/** A tag of this form that no resource has. */
const OTHER_TAG = entityTagOf('another state');

/** `ETag`, `If-None-Match` and `If-Match` of each operation that has them in its document. */
export const entityTagPromises: readonly ApiPromise[] = [
  {
    title: 'the ETag of a response is the hash of its body, and gets 304 while nothing changes',
    appliesTo: ({ isAllowed }) => isAllowed,
    check: checkRead,
  },
  {
    title: 'a change with the ETag of another state in If-Match gets 412 and changes nothing',
    appliesTo: ({ isAllowed, operation }) => isAllowed && /^(PUT|PATCH|DELETE)$/.test(operation.method),
    check: checkChange,
  },
];

async function checkRead(tested: OperationUnderTest): Promise<void> {
  const { isCreating, operation, resources } = tested;
  const created = isCreating && (await resources.create(operation));
  if (created) tagOf(tested, created.response);
  if (!takesHeader(operation, IF_NONE_MATCH_HEADER.name)) return;
  const tag = tagOf(tested, await tested.send());
  if (tag === undefined) return;
  const what = 'the ETag of its last response';
  const again = await tested.send({ headers: ifNoneMatch(tag), what });
  tested.requires(again, `to ${what}`, '304. Return the same body while nothing changes');
}

/** The change is tried with a tag of another state, then with the current one. */
async function checkChange(tested: OperationUnderTest): Promise<void> {
  const { api, isThorough, operation, resources } = tested;
  const isConditional = takesHeader(operation, IF_MATCH_HEADER.name);
  const read = tested.readAt(operation.path);
  if (!isConditional && !isThorough) return;
  const resource = await resources.createAt(operation.path);
  const path = resource?.path ?? tested.path;
  const change = (tag: string | undefined, what: string) =>
    tested.sendExample({ path, headers: tag === undefined ? {} : ifMatch(tag), what });
  if (!isConditional) {
    // A 412 is a response that its document does not have.
    await change(OTHER_TAG, 'an If-Match that its document does not have');
    return;
  }
  if (!read || !(resource || resources.isOwn(operation))) return;
  const before = await api.send(read, { path });
  if (!isSuccess(before)) return;
  const cause = 'to an If-Match of another state';
  const rejected = await change(OTHER_TAG, 'the ETag of another state');
  const advice = 'Compare with preconditionOf in the transaction of the change';
  if (!tested.requires(rejected, cause, `412. ${advice}`)) return;
  const { headers, text } = await api.send(read, { path });
  if (text !== before.text) {
    tested.note(`responds 412 ${cause}, and changes the resource. Compare before the change`);
    return;
  }
  const isRemoval = operation.method === 'DELETE';
  if (isRemoval && !resource) return;
  const changed = await change(headers.etag, 'the current ETag');
  if (changed.status === 412 || (isRemoval && !isSuccess(changed))) {
    const remedy = 'Give preconditionOf the class of the response of GET, and its state';
    tested.note(`responds ${changed.status} to the current ETag in If-Match. ${remedy}`);
  } else if (isRemoval) {
    resources.forget(path);
    const { status } = await api.send(read, { path, what: 'a removed resource' });
    if (status !== 404) tested.note(`responds ${changed.status}, and GET then responds ${status}`);
  }
  if (isRemoval) return;
  if (operation.success) tagOf(tested, changed);
  if (!isSuccess(changed) || changed.text === text) return;
  const what = 'the ETag before a change';
  const again = await api.send(read, { path, headers: ifNoneMatch(String(headers.etag)), what });
  if (again.status === 304) api.note(read.title, `responds 304 to ${what}`);
}

/** Returns the tag of a success; undefined if it has none, or another one than the hash of its body. */
function tagOf(tested: OperationUnderTest, response: TestResponse): string | undefined {
  const { etag } = response.headers;
  if (!isSuccess(response) || etag === undefined) return undefined;
  if (etag === entityTagOf(response.text)) return etag;
  tested.note('has an ETag that is not the hash of its body. The store sets the ETag');
  return undefined;
}
