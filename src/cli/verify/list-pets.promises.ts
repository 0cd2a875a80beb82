import { type Answer, itemsOf, linkOf } from './answer';
import type { ApiClient } from './api-client';
import { arrayFaults, expectThat, type Faults, KEPT } from './faults';
import { isObject, memberOf } from './json-value';
import { petFaults, STATUSES } from './pet';
import { type ApiPromise, refuses, refusesAll } from './promise';

const PAGES = 3;

/** Specification, 4.1 and 8.1; paging by `Link` (RFC 8288). */
export const listPets: readonly ApiPromise[] = [
  {
    name: 'GET /pets answers 200 with a JSON array of animals',
    check: async (api) => arrayFaults(await api.get('/pets'), petFaults),
  },
  { name: 'GET /pets returns 20 animals or fewer', check: (api) => atMost(api, '/pets', 20) },
  { name: 'limit=1 returns one animal', check: (api) => atMost(api, '/pets?limit=1', 1) },
  { name: 'limit=100 returns 100 animals or fewer', check: (api) => atMost(api, '/pets?limit=100', 100) },
  refusesAll(
    'limit outside 1 to 100 answers 400 validation_failed and is not clamped',
    400,
    'validation_failed',
    ['0', '101', '-1', 'ten'].map((limit) => (api) => api.get(`/pets?limit=${limit}`)),
  ),
  { name: 'status returns only animals of that status', check: filter },
  refuses('an unknown status answers 400 validation_failed', 400, 'validation_failed', (api) =>
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
  refuses('an invented cursor answers 400 invalid_cursor', 400, 'invalid_cursor', (api) =>
    api.get('/pets?cursor=invented'),
  ),
];

/** At least one: some were added before. */
async function atMost(api: ApiClient, path: string, most: number): Promise<Faults> {
  const answer = await api.get(path);
  const { length } = itemsOf(answer);
  return [
    ...arrayFaults(answer, petFaults),
    ...expectThat(length >= 1 && length <= most, answer.request, `1 to ${most} animals`, length),
  ];
}

async function filter(api: ApiClient): Promise<Faults> {
  const faults: string[] = [];
  for (const status of STATUSES) {
    const answer = await api.get(`/pets?status=${String(status)}`);
    const others = itemsOf(answer).filter((pet) => memberOf(pet, 'status') !== status);
    faults.push(
      ...arrayFaults(answer, petFaults),
      ...expectThat(itemsOf(answer).length > 0, answer.request, 'an animal, one was added', answer.body),
      ...expectThat(others.length === 0, answer.request, 'no other status', others[0]),
    );
  }
  return faults;
}

async function order(api: ApiClient): Promise<Faults> {
  const answer = await api.get('/pets?limit=100');
  const next = linkOf(answer, 'next');
  const isFull = itemsOf(answer).length === 100;
  return [
    ...ascendingFaults(answer.request, itemsOf(answer)),
    ...expectThat(
      isFull || next === undefined,
      answer.request,
      'no next page after one that is not full',
      next,
    ),
  ];
}

/** Follows `next` over so many pages of one animal each; enough animals were added before. */
async function walk(api: ApiClient, path: string, pages: number): Promise<Faults> {
  const wanted = new URLSearchParams(path.split('?')[1]);
  const seen: unknown[] = [];
  let answer = await api.get(path);
  for (let page = 1; ; page += 1) {
    seen.push(...itemsOf(answer));
    const faults = [...pageFaults(answer, page), ...ascendingFaults(answer.request, seen)];
    if (faults.length > 0 || page === pages) return faults;
    const next = parametersOf(linkOf(answer, 'next'));
    const lost = [...wanted].find(([name, value]) => next?.get(name) !== value);
    if (next === undefined || lost !== undefined) {
      const expected = `a Link with rel="next"${lost ? ` that keeps ${lost.join('=')}` : ''}`;
      return expectThat(false, answer.request, expected, answer.headers.get('link'));
    }
    // Only the parameters are followed: whatever the link names, the key goes nowhere else.
    answer = await api.get(`/pets?${next.toString()}`);
  }
}

function pageFaults(answer: Answer, page: number): Faults {
  const first = linkOf(answer, 'first');
  return [
    ...arrayFaults(answer, petFaults),
    ...expectThat(itemsOf(answer).length === 1, answer.request, 'one animal', itemsOf(answer).length),
    ...expectThat(
      (first === undefined) === (page === 1),
      answer.request,
      'a Link with rel="first" on every page but the first',
      answer.headers.get('link'),
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
