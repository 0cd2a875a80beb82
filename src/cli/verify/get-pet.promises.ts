import { MAX_INT64 } from '../../http/int64';
import { type Answer, linkOf } from './answer';
import type { ApiClient } from './api-client';
import { expectThat, type Faults, statusFaults } from './faults';
import { memberOf } from './json-value';
import { petFaults } from './pet';
import { type ApiPromise, refuses } from './promise';

const REMOVAL = 'Thu, 05 Dec 2030 00:00:00 GMT';
/** No deployment comes to this id. */
const NOBODY = `/pets/${MAX_INT64}`;

/** Specification, 4.3 and 9. */
export const getPet: readonly ApiPromise[] = [
  { name: 'GET /pets/{petId} answers 200 with the animal that was added', check: fetchCreated },
  refuses(
    'GET /pets/{petId} of an animal that does not exist answers 404 pet_not_found',
    404,
    'pet_not_found',
    (api) => api.get(NOBODY),
  ),
  refuses(
    'GET /pets/{petId} with what is no identifier answers 404 pet_not_found',
    404,
    'pet_not_found',
    (api) => api.get('/pets/rex'),
  ),
  {
    name: 'GET /pets/{petId} announces its removal on 5 December 2030 by Deprecation, Sunset and Link, also with 401 and 404',
    check: deprecation,
  },
];

/** The address of the first animal that was added; a wrong one where none was. */
function createdPath({ created }: ApiClient): string {
  return `/pets/${created[0]?.id ?? 0n}`;
}

async function fetchCreated(api: ApiClient): Promise<Faults> {
  const [added] = api.created;
  if (!added) return ['expected an animal that was added before, got none'];
  const answer = await api.get(createdPath(api));
  const wrongStatus = statusFaults(answer, 200);
  if (wrongStatus.length > 0) return wrongStatus;
  const id = memberOf(answer.body, 'id');
  const name = memberOf(answer.body, 'name');
  return [
    ...petFaults(answer.body, answer.request),
    ...expectThat(id === added.id, `${answer.request}, id`, String(added.id), id),
    ...expectThat(name === added.name, `${answer.request}, name`, added.name, name),
  ];
}

async function deprecation(api: ApiClient): Promise<Faults> {
  const answers = [
    await api.get(createdPath(api)),
    await api.get(NOBODY),
    await api.get('/pets/1', { authorization: null }),
  ];
  return answers.flatMap(announcementFaults);
}

/** RFC 9745, RFC 8594, RFC 5829. */
function announcementFaults(answer: Answer): Faults {
  const { headers, status } = answer;
  const where = `${answer.request} (${status})`;
  const since = headers.get('deprecation');
  const sunset = headers.get('sunset');
  const successor = linkOf(answer, 'successor-version');
  return [
    ...expectThat(/^@\d+$/.test(since ?? ''), where, 'Deprecation: @<Unix time>', since),
    ...expectThat(sunset === REMOVAL, where, `Sunset: ${REMOVAL}`, sunset),
    ...expectThat(
      /\/pets\?status=/.test(successor ?? ''),
      where,
      'a Link with rel="successor-version" to /pets?status=…',
      headers.get('link'),
    ),
  ];
}
