import { PET_STATUSES } from '../../pets';
import type { ApiClient } from './api-client';
import { expectThat, type Faults, KEPT, successFaults } from './faults';
import { isObject, memberOf } from './json-value';
import { type ApiPromise, rejects, rejectsAll } from './promise';
import { itemsOf, linkOf, type ReceivedResponse } from './received-response';

const PAGES = 3;

/** Specification, 4.1 and 8.1; paging by `Link` (RFC 8288). */
export const listPets: readonly ApiPromise[] = [
  {
    name: 'GET /pets answers 200 with a JSON array of animals',
    check: async (api) => successFaults(await api.get('/pets'), 200),
  },
  { name: 'GET /pets returns 20 animals or fewer', check: (api) => atMost(api, '/pets', 20) },
  { name: 'limit=1 returns one animal', check: (api) => atMost(api, '/pets?limit=1', 1) },
  { name: 'limit=100 returns 100 animals or fewer', check: (api) => atMost(api, '/pets?limit=100', 100) },
  rejectsAll(
    'limit outside 1 to 100 answers 400 validation_failed and is not clamped',
    400,
    'validation_failed',
    ['0', '101', '-1', 'ten'].map((limit) => (api) => api.get(`/pets?limit=${limit}`)),
  ),
  { name: 'status returns only animals of that status', check: filter },
  rejects('an unknown status answers 400 validation_failed', 400, 'validation_failed', (api) =>
    api.get('/pets?status=gone'),
  ),
  {
    name: 'animals come by ascending id, and only a full page has a next one',
    check: order,
  },
  {
    name: 'Link with rel="next" leads from page to page, none repeating an animal',
    check: (api) => walk(api, '/pets?limit=1', PAGES),
  },
  {
    name: 'Link keeps limit and status',
    check: (api) => walk(api, '/pets?limit=1&status=sold', 2),
  },
  rejects('an invalid cursor answers 400 invalid_cursor', 400, 'invalid_cursor', (api) =>
    api.get('/pets?cursor=invalid'),
  ),
];

/** Checks the length of a page. At least one animal is there, because earlier promises added some. */
async function atMost(api: ApiClient, path: string, max: number): Promise<Faults> {
  const response = await api.get(path);
  const { length } = itemsOf(response);
  return [
    ...successFaults(response, 200),
    ...expectThat(length >= 1 && length <= max, response.request, `1 to ${max} animals`, length),
  ];
}

async function filter(api: ApiClient): Promise<Faults> {
  const faults: string[] = [];
  for (const status of PET_STATUSES) {
    const response = await api.get(`/pets?status=${status}`);
    const others = itemsOf(response).filter((pet) => memberOf(pet, 'status') !== status);
    faults.push(
      ...successFaults(response, 200),
      ...expectThat(
        itemsOf(response).length > 0,
        response.request,
        'an animal, because one was added',
        response.body,
      ),
      ...expectThat(others.length === 0, response.request, 'no other status', others[0]),
    );
  }
  return faults;
}

async function order(api: ApiClient): Promise<Faults> {
  const response = await api.get('/pets?limit=100');
  const next = linkOf(response, 'next');
  const isFull = itemsOf(response).length === 100;
  return [
    ...ascendingFaults(response.request, itemsOf(response)),
    ...expectThat(
      isFull || next === undefined,
      response.request,
      'no next page after a page that is not full',
      next,
    ),
  ];
}

/** Follows `next` over this number of pages with one animal each; earlier promises added enough animals. */
async function walk(api: ApiClient, path: string, pages: number): Promise<Faults> {
  const parameters = new URLSearchParams(path.split('?')[1]);
  const seen: unknown[] = [];
  let response = await api.get(path);
  for (let page = 1; ; page += 1) {
    seen.push(...itemsOf(response));
    const faults = [...pageFaults(response, page), ...ascendingFaults(response.request, seen)];
    if (faults.length > 0 || page === pages) return faults;
    const next = parametersOf(linkOf(response, 'next'));
    const lost = [...parameters].find(([name, value]) => next?.get(name) !== value);
    if (next === undefined || lost !== undefined) {
      const expected = `a Link with rel="next"${lost ? ` that keeps ${lost.join('=')}` : ''}`;
      return expectThat(false, response.request, expected, response.headers.get('link'));
    }
    // Takes only the parameters of the link, so the key is never sent to another host.
    response = await api.get(`/pets?${next.toString()}`);
  }
}

function pageFaults(response: ReceivedResponse, page: number): Faults {
  const first = linkOf(response, 'first');
  return [
    ...successFaults(response, 200),
    ...expectThat(itemsOf(response).length === 1, response.request, 'one animal', itemsOf(response).length),
    ...expectThat(
      (first === undefined) === (page === 1),
      response.request,
      'a Link with rel="first" on every page but the first',
      response.headers.get('link'),
    ),
  ];
}

function parametersOf(link: string | undefined): URLSearchParams | undefined {
  const at = link?.indexOf('?') ?? -1;
  return link === undefined || at < 0 ? undefined : new URLSearchParams(link.slice(at));
}

function ascendingFaults(where: string, pets: readonly unknown[]): Faults {
  const ids = pets.filter(isObject).map(({ id }) => id);
  const wrong = ids.find((id, at) => {
    const before = ids[at - 1];
    return typeof id === 'bigint' && typeof before === 'bigint' && id <= before;
  });
  return wrong === undefined ? KEPT : expectThat(false, where, 'ids that ascend', ids);
}
