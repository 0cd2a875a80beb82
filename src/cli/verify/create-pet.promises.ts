import { stringify } from 'lossless-json';
import { MAX_INT64, MIN_INT64 } from '../../platform/http/int64';
import type { ApiClient } from './api-client';
import { expectThat, type Faults, successFaults } from './faults';
import { memberOf } from './json-value';
import { type ApiPromise, rejects, rejectsAll } from './promise';

/** 9007199254740993, which JSON.parse rounds to 9007199254740992. */
const ABOVE_DOUBLES = 2n ** 53n + 1n;
/** Letters beyond ASCII, a code point beyond the BMP, and a leading space. */
const NAME = ' Žofie 🐈 (animal-store verify) ';

/** Two are sold, so that the list of sold animals has a second page. */
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

/** Specification, 4.2. The animals stay, and the promises about lists rely on them. */
export const createPet: readonly ApiPromise[] = [
  {
    name: 'POST /pets answers 201 with the animal, available where no status is given, and its Location',
    check: createWithoutStatus,
  },
  {
    name: 'POST /pets keeps name, status and categoryId exactly, over the whole range of int64',
    check: createExactly,
  },
  rejectsAll(
    'POST /pets without a required field answers 400 validation_failed',
    400,
    'validation_failed',
    MISSING.map((body) => (api) => api.post('/pets', body)),
  ),
  rejectsAll(
    'POST /pets with an invalid value answers 400 validation_failed',
    400,
    'validation_failed',
    INVALID.map((body) => (api) => api.post('/pets', body)),
  ),
  rejects('POST /pets with malformed JSON answers 400 malformed_json', 400, 'malformed_json', (api) =>
    api.post('/pets', '{"name":'),
  ),
  rejects(
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
  const response = await api.post('/pets', stringify(sent) ?? '');
  const faults = successFaults(response, 201);
  if (response.status !== 201) return faults;
  const location = response.headers.get('location');
  const id = String(memberOf(response.body, 'id'));
  return [
    ...faults,
    ...Object.entries(wanted).flatMap(([name, value]) => {
      const got = memberOf(response.body, name);
      return expectThat(got === value, `${response.request}, ${name}`, stringify(value) ?? '', got);
    }),
    ...expectThat(
      location?.endsWith(`/pets/${id}`) === true,
      response.request,
      `Location …/pets/${id}`,
      location,
    ),
  ];
}
