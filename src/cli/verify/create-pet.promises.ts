import { stringify } from 'lossless-json';
import { MAX_INT64, MIN_INT64 } from '../../http/int64';
import type { ApiClient } from './api-client';
import { expectThat, type Faults, statusFaults } from './faults';
import { memberOf } from './json-value';
import { petFaults } from './pet';
import { type ApiPromise, refuses, refusesAll } from './promise';

/** JSON.parse in place of an exact reader makes 9007199254740992 of it. */
const ABOVE_DOUBLES = 2n ** 53n + 1n;
/** Kept exactly: letters beyond ASCII, a code point beyond the BMP, spaces at the rim. */
const NAME = ' Žofie 🐈 (animal-store verify) ';

/** The last two are both sold: the list of the sold then has a second page. */
const NEW_PETS = [
  { name: NAME, categoryId: MIN_INT64, status: 'pending' },
  { name: NAME, categoryId: MAX_INT64, status: 'sold' },
  { name: NAME, categoryId: 0n, status: 'sold' },
] as const;

const MISSING = ['{"name":"Rex"}', '{"categoryId":3}'];
const INVALID = [
  '{"name":"","categoryId":3}',
  '{"name":7,"categoryId":3}',
  '{"name":"Rex","categoryId":"3"}',
  '{"name":"Rex","categoryId":1.5}',
  `{"name":"Rex","categoryId":${MAX_INT64 + 1n}}`,
  '{"name":"Rex","categoryId":3,"status":"gone"}',
];

/** Specification, 4.2. What is added here stays; the lists that come after rely on it. */
export const createPet: readonly ApiPromise[] = [
  {
    name: 'POST /pets answers 201 with the animal, available where no status is given, and its Location',
    check: createWithoutStatus,
  },
  {
    name: 'POST /pets keeps name, status and categoryId exactly, over the whole range of int64',
    check: createExactly,
  },
  refusesAll(
    'POST /pets without a required field answers 400 validation_failed',
    400,
    'validation_failed',
    MISSING.map((body) => (api) => api.post('/pets', body)),
  ),
  refusesAll(
    'POST /pets with an invalid value answers 400 validation_failed',
    400,
    'validation_failed',
    INVALID.map((body) => (api) => api.post('/pets', body)),
  ),
  refuses('POST /pets with what is not JSON answers 400 malformed_json', 400, 'malformed_json', (api) =>
    api.post('/pets', '{"name":'),
  ),
  refuses(
    'POST /pets with another media type answers 415 unsupported_media_type',
    415,
    'unsupported_media_type',
    (api) => api.post('/pets', 'name=Rex', { headers: { 'content-type': 'text/plain' } }),
  ),
];

async function createWithoutStatus(api: ApiClient): Promise<Faults> {
  const sent = { name: NAME, categoryId: ABOVE_DOUBLES };
  return create(api, sent, { ...sent, status: 'available' });
}

async function createExactly(api: ApiClient): Promise<Faults> {
  const faults: string[] = [];
  for (const pet of NEW_PETS) faults.push(...(await create(api, pet, pet)));
  return faults;
}

async function create(
  api: ApiClient,
  sent: Readonly<Record<string, unknown>>,
  wanted: Readonly<Record<string, unknown>>,
): Promise<Faults> {
  const answer = await api.post('/pets', stringify(sent) ?? '');
  const wrongStatus = statusFaults(answer, 201);
  if (wrongStatus.length > 0) return wrongStatus;
  const location = answer.headers.get('location');
  const id = String(memberOf(answer.body, 'id'));
  return [
    ...petFaults(answer.body, answer.request),
    ...Object.entries(wanted).flatMap(([name, value]) => {
      const got = memberOf(answer.body, name);
      return expectThat(got === value, `${answer.request}, ${name}`, stringify(value) ?? '', got);
    }),
    ...expectThat(
      location?.endsWith(`/pets/${id}`) === true,
      answer.request,
      `Location …/pets/${id}`,
      location,
    ),
  ];
}
