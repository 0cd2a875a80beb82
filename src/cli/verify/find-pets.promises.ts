import { MAX_INT64 } from '../../platform/http/int64';
import type { ApiClient } from './api-client';
import { NONE_ADDED } from './created-animals';
import { errorFaults, expectThat, type Faults, successFaults } from './faults';
import { memberOf } from './json-value';
import { type ApiPromise, rejects } from './promise';
import { itemsOf, linkOf, type ReceivedResponse } from './received-response';

const MAX_IDS = 100;
const TOO_MANY_IDS = Array.from({ length: MAX_IDS + 1 }, (_, at) => `id=${at}`).join('&');

/** Category and status of the animal that was added last. */
const LAST = { categoryId: 0n, status: 'sold' } as const;

const NEWEST_FIRST = '/pets?limit=2&sort=-id';
/** An earlier promise asks for this page too. */
const SOLD = '/pets?limit=1&status=sold';

/** The filters and the order of the list. Earlier promises added the animals to find. */
export const findPets: readonly ApiPromise[] = [
  {
    name: 'id and status together return only animals of both, and leave out the id of no animal',
    check: byIds,
  },
  rejects(
    `more than ${MAX_IDS} times id answers 400 validation_failed`,
    400,
    'validation_failed',
    (api: ApiClient) => api.get(`/pets?${TOO_MANY_IDS}`),
  ),
  { name: 'categoryId and status together return only animals of both', check: byBoth },
  { name: 'sort=-id returns the newest animals first, and Link keeps limit and sort', check: newestFirst },
  {
    name: 'a cursor of another status or another sort answers 400 invalid_cursor',
    check: boundCursors,
  },
];

/** The first animal is available, and the last two are sold. */
async function byIds(api: ApiClient): Promise<Faults> {
  const [first, last] = firstAndLast(api);
  if (!first || !last) return NONE_ADDED;
  const response = await api.get(`/pets?id=${first.id}&id=${MAX_INT64}&id=${last.id}&status=${LAST.status}`);
  const ids = idsOf(response);
  return [
    ...successFaults(response, 200),
    ...expectThat(ids.join() === String(last.id), response.request, `only the animal ${last.id}`, ids),
  ];
}

async function byBoth(api: ApiClient): Promise<Faults> {
  const [, last] = firstAndLast(api);
  if (!last) return NONE_ADDED;
  const { categoryId, status } = LAST;
  const response = await api.get(`/pets?categoryId=${categoryId}&status=${status}&limit=100&sort=-id`);
  const others = itemsOf(response).filter(
    (pet) => memberOf(pet, 'categoryId') !== categoryId || memberOf(pet, 'status') !== status,
  );
  const where = response.request;
  return [
    ...successFaults(response, 200),
    ...expectThat(idsOf(response).includes(last.id), where, `the animal ${last.id}`, idsOf(response)),
    ...expectThat(others.length === 0, where, 'no other category or status', others[0]),
  ];
}

async function newestFirst(api: ApiClient): Promise<Faults> {
  const response = await api.get(NEWEST_FIRST);
  const [newest, next] = idsOf(response);
  const last = api.changes.created.at(-1)?.id;
  const link = linkOf(response, 'next');
  const isKept = ['limit=2', 'sort=-id'].every((parameter) => link?.includes(parameter));
  return [
    ...successFaults(response, 200),
    ...expectThat(
      typeof newest === 'bigint' && typeof next === 'bigint' && newest > next,
      response.request,
      'two ids that descend',
      idsOf(response),
    ),
    ...expectThat(
      typeof newest === 'bigint' && last !== undefined && newest >= last,
      response.request,
      `the animal ${last}, which was added last, or a newer one`,
      newest,
    ),
    ...expectThat(isKept, response.request, 'a Link with rel="next" that keeps limit and sort', link),
  ];
}

/** Sends the cursors of two lists with another filter and another sort. */
async function boundCursors(api: ApiClient): Promise<Faults> {
  const faults: string[] = [];
  for (const [path, other] of [
    [SOLD, '/pets?status=pending'],
    [NEWEST_FIRST, '/pets?sort=id'],
  ] as const) {
    const page = await api.get(path);
    const [cursor] = /\bcursor=[\w-]+/.exec(linkOf(page, 'next') ?? '') ?? [];
    faults.push(
      ...(cursor === undefined
        ? expectThat(false, page.request, 'a Link with rel="next" and a cursor', page.headers.get('link'))
        : errorFaults(await api.get(`${other}&${cursor}`), 400, 'invalid_cursor')),
    );
  }
  return faults;
}

function firstAndLast({ changes: { created } }: ApiClient) {
  return [created[0], created.at(-1)] as const;
}

function idsOf(response: ReceivedResponse): unknown[] {
  return itemsOf(response).map((pet) => memberOf(pet, 'id'));
}
