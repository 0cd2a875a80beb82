import { entityTagOf, IF_MATCH_HEADER, IF_NONE_MATCH_HEADER } from '../../platform/entity-tags/entity-tag';
import { isSuccess } from '../api';
import { takesHeader } from '../api-document';
import { sendTogether } from '../held-changes.repository';
import type { OperationUnderTest, Promises } from './operation-under-test';

/** A tag of this form that no resource has. */
const OTHER_TAG = entityTagOf('another state');

/** `If-None-Match` and `If-Match` of each operation that has them in its document. */
export const entityTagPromises: Promises = {
  async 'the ETag of a response gets 304 while nothing changes'(tested) {
    const { operation } = tested;
    if (operation.method !== 'GET') return;
    const { etag } = (await tested.send()).headers;
    if (etag === undefined || !takesHeader(operation, IF_NONE_MATCH_HEADER.name)) return;
    const what = 'the ETag of its last response';
    const again = await tested.send({ headers: { [IF_NONE_MATCH_HEADER.name]: etag }, what });
    tested.requires(again, `to ${what}`, '304. Return the same body while nothing changes');
  },

  // The change is tried with a tag of another state, then with the current one.
  async 'a change with the ETag of another state in If-Match gets 412 and changes nothing'(tested) {
    const { api, document, operation, resources } = tested;
    if (!/^(PUT|PATCH|DELETE)$/.test(operation.method)) return;
    if (!takesHeader(operation, IF_MATCH_HEADER.name)) return;
    const resource = await resources.createAt(operation.path);
    const path = resource?.path ?? tested.path;
    const change = (tag: string, what: string) =>
      tested.sendExample({ path, headers: { [IF_MATCH_HEADER.name]: tag }, what });
    const read = document.at('GET', operation.path);
    if (!read) return;
    const before = await api.send(read, { path });
    if (!isSuccess(before)) return;
    const what = 'an If-Match of another state';
    const wanted = '412. Call the Precondition of @IfMatch() in the transaction of the change';
    const stale = await change(OTHER_TAG, what);
    const { headers, text } = await api.send(read, { path });
    // The change may be in force (RFC 9110, 13.1.1).
    const isInForce = isSuccess(stale) && text === before.text;
    if (!isInForce && !tested.requires(stale, `to ${what}`, wanted)) return;
    if (text !== before.text) {
      tested.note(`responds 412 to ${what}, and changes the resource. Compare before the change`);
      return;
    }
    const isRemoval = operation.method === 'DELETE';
    if (isRemoval && !resource) return;
    const changed = await change(String(headers.etag), 'the current ETag');
    if (changed.status === 412) {
      const remedy = 'Give @IfMatch() the class of the response of GET, and the Precondition its state';
      tested.note(`responds 412 to the current ETag in If-Match. ${remedy}`);
    } else if (!isRemoval) {
      await checkConcurrent(tested, path, String(changed.headers.etag ?? headers.etag));
    } else if (isSuccess(changed)) {
      resources.forget(path);
      const after = await api.send(read, { path, what: 'a removed resource' });
      // A DELETE that responds with the resource keeps it in its last state, such as a revoked key.
      const isKept = changed.text !== '' && after.text === changed.text;
      if (after.status === 404 || isKept) return;
      tested.note(`responds ${changed.status}, and GET then responds ${after.status}`);
    }
  },
};

/** Without a lock each request has read the row before any changes it. */
async function checkConcurrent(tested: OperationUnderTest, path: string, etag: string): Promise<void> {
  const { api, operation, resources } = tested;
  const given = { method: operation.method, key: api.key, headers: { [IF_MATCH_HEADER.name]: etag } };
  const requests = [1, 2, 3, 4].map(() => {
    const body = resources.newBody(operation, ['string', 'integer', 'number']);
    return () => api.request(path, { ...given, body });
  });
  const responses = await sendTogether(api.store, requests);
  const changed = responses.filter(isSuccess);
  // The change may be in force (RFC 9110, 13.1.1).
  if (new Set(changed.map(({ text }) => text)).size < 2) return;
  const what = `${changed.length} of ${requests.length} concurrent changes with one ETag in If-Match`;
  tested.note(`responds ${changed[0]?.status} to ${what}. Lock the row before the Precondition`);
}
