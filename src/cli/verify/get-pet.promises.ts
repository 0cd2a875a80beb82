import { MAX_INT64 } from '../../platform/http/int64';
import type { ApiClient } from './api-client';
import { createdPath, NONE_ADDED } from './created-animals';
import { expectThat, type Faults, successFaults } from './faults';
import { memberOf } from './json-value';
import { type ApiPromise, rejects } from './promise';
import { linkOf, type ReceivedResponse } from './received-response';

const REMOVAL = 'Thu, 05 Dec 2030 00:00:00 GMT';
/** The highest id, which no deployment reaches. */
const UNKNOWN_PET = `/pets/${MAX_INT64}`;

/** Specification, 4.3 and 9. */
export const getPet: readonly ApiPromise[] = [
  { name: 'GET /pets/{petId} answers 200 with the animal that was added', check: fetchCreated },
  rejects(
    'GET /pets/{petId} of an animal that does not exist answers 404 pet_not_found',
    404,
    'pet_not_found',
    (api) => api.get(UNKNOWN_PET),
  ),
  rejects(
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

async function fetchCreated(api: ApiClient): Promise<Faults> {
  const [added] = api.changes.created;
  if (!added) return NONE_ADDED;
  const response = await api.get(createdPath(api));
  const faults = successFaults(response, 200);
  if (response.status !== 200) return faults;
  const id = memberOf(response.body, 'id');
  const name = memberOf(response.body, 'name');
  return [
    ...faults,
    ...expectThat(id === added.id, `${response.request}, id`, String(added.id), id),
    ...expectThat(name === added.name, `${response.request}, name`, added.name, name),
  ];
}

async function deprecation(api: ApiClient): Promise<Faults> {
  const responses = [
    await api.get(createdPath(api)),
    await api.get(UNKNOWN_PET),
    await api.get('/pets/1', { authorization: null }),
  ];
  return responses.flatMap(announcementFaults);
}

/** RFC 9745, RFC 8594, RFC 5829. */
function announcementFaults(response: ReceivedResponse): Faults {
  const { headers, status } = response;
  const where = `${response.request} (${status})`;
  const since = headers.get('deprecation');
  const sunset = headers.get('sunset');
  const successor = linkOf(response, 'successor-version');
  const [id] = /-?\d+$/.exec(response.request) ?? [];
  return [
    ...expectThat(/^@\d+$/.test(since ?? ''), where, 'Deprecation: @<Unix time>', since),
    ...expectThat(sunset === REMOVAL, where, `Sunset: ${REMOVAL}`, sunset),
    ...expectThat(
      successor?.endsWith(`/pets?id=${id}`) === true,
      where,
      `a Link with rel="successor-version" to /pets?id=${id}`,
      headers.get('link'),
    ),
  ];
}
