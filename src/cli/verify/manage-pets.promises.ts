import type { ApiClient } from './api-client';
import { createdPath, NONE_ADDED } from './created-animals';
import { errorFaults, expectThat, type Faults, statusFaults, successFaults } from './faults';
import { memberOf } from './json-value';
import { type ApiPromise, MANAGE_PETS, rejects } from './promise';
import type { ReceivedResponse } from './received-response';

const NEW_NAME = 'Renamed (animal-store verify)';
const RENAMING = JSON.stringify({ name: NEW_NAME });
/** Has the form of an ETag of this API. */
const OTHER_TAG = `"${'0'.repeat(43)}"`;

/** Changes to the first animal that was added. */
const CHANGES: readonly ApiPromise[] = [
  rejects(
    'PATCH /pets/{petId} without a member answers 400 validation_failed',
    400,
    'validation_failed',
    changeNothing,
  ),
  rejects(
    'PATCH with If-Match and another ETag answers 412 precondition_failed',
    412,
    'precondition_failed',
    (api) =>
      api.send('PATCH', createdPath(api), { body: '{"name":"Rex"}', headers: { 'if-match': OTHER_TAG } }),
  ),
  {
    name: 'PATCH /pets/{petId} with If-Match and the current ETag answers 200 and changes the given members only',
    check: rename,
  },
  {
    name: 'after a change, GET with If-None-Match and the earlier ETag answers 200 with the new state',
    check: changed,
  },
];

export const changePets = CHANGES.map((promise): ApiPromise => ({ ...promise, needs: MANAGE_PETS }));

/** Removes all animals that were added. Later promises find none of them. */
export const removePets: readonly ApiPromise[] = [
  { name: 'DELETE /pets/{petId} answers 204, then GET answers 404', needs: MANAGE_PETS, check: remove },
];

/** True unless the key lacks the scope pets:manage, which is checked before the body. */
export async function mayManagePets(api: ApiClient): Promise<boolean> {
  const { status, body } = await changeNothing(api);
  return !(status === 403 && memberOf(body, 'code') === 'insufficient_scope');
}

function changeNothing(api: ApiClient): Promise<ReceivedResponse> {
  return api.once('PATCH', createdPath(api), { body: '{}' });
}

function renamed(api: ApiClient, tag: string): Promise<ReceivedResponse> {
  return api.once('PATCH', createdPath(api), { body: RENAMING, headers: { 'if-match': tag } });
}

async function rename(api: ApiClient): Promise<Faults> {
  const before = await api.get(createdPath(api));
  const response = await renamed(api, before.headers.get('etag') ?? '');
  const faults = successFaults(response, 200);
  if (response.status !== 200) return faults;
  const wanted = { id: undefined, name: NEW_NAME, categoryId: undefined, status: undefined };
  return [
    ...faults,
    ...Object.entries(wanted).flatMap(([member, value = memberOf(before.body, member)]) => {
      const got = memberOf(response.body, member);
      return expectThat(got === value, `${response.request}, ${member}`, String(value), got);
    }),
  ];
}

async function changed(api: ApiClient): Promise<Faults> {
  const path = createdPath(api);
  const tag = (await api.get(path)).headers.get('etag') ?? '';
  const change = await renamed(api, tag);
  const response = await api.send('GET', path, { headers: { 'if-none-match': tag } });
  if (response.status !== 200) return statusFaults(response, 200);
  const { request, headers, body } = response;
  const [wanted, got] = [change.headers.get('etag'), headers.get('etag')];
  const name = memberOf(body, 'name');
  return [
    ...expectThat(name === NEW_NAME, `${request}, name`, NEW_NAME, name),
    ...expectThat(got === wanted, request, `the ETag of the change, ${wanted}`, got),
  ];
}

async function remove(api: ApiClient): Promise<Faults> {
  const path = createdPath(api);
  const { left } = api.changes;
  if (left.length === 0) return NONE_ADDED;
  const faults: string[] = [];
  for (const { id } of left) faults.push(...statusFaults(await api.send('DELETE', `/pets/${id}`), 204));
  return [...faults, ...errorFaults(await api.send('GET', path), 404, 'pet_not_found')];
}
