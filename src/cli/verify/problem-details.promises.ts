import type { ApiClient } from './api-client';
import { documentedFaults, errorFaults, expectThat, type Faults } from './faults';
import { memberOf } from './json-value';
import type { ApiPromise } from './promise';
import type { ReceivedResponse } from './received-response';

const MEDIA_TYPE = 'application/problem+json';
const PREFERRED = { accept: `${MEDIA_TYPE}, application/json;q=0.9` };

/** Two invalid fields. */
const INVALID = '{"name":"","categoryId":"3"}';
const POINTERS = ['#/name', '#/categoryId'];

/** RFC 9457. */
export const problemDetails: readonly ApiPromise[] = [
  {
    name: `an error is ${MEDIA_TYPE} where Accept prefers it, with the status and code of the Error body`,
    check: async (api) => [
      ...problemFaults(await withoutKey(api), 401, 'missing_api_key'),
      ...problemFaults(await withInvalidFields(api), 400, 'validation_failed'),
    ],
  },
  {
    name: 'problem details of validation_failed name each invalid field by a pointer',
    check: async (api) => {
      const response = await withInvalidFields(api);
      const errors = memberOf(response.body, 'errors');
      const pointers = Array.isArray(errors) ? errors.map((each) => memberOf(each, 'pointer')) : [];
      return expectThat(
        pointers.length === POINTERS.length && POINTERS.every((each) => pointers.includes(each)),
        response.request,
        `errors with the pointers ${POINTERS.join(' and ')}`,
        errors,
      );
    },
  },
];

function withoutKey(api: ApiClient): Promise<ReceivedResponse> {
  return api.send('GET', '/pets', { authorization: null, headers: PREFERRED });
}

function withInvalidFields(api: ApiClient): Promise<ReceivedResponse> {
  return api.once('POST', '/pets', { body: INVALID, headers: PREFERRED });
}

function problemFaults(response: ReceivedResponse, status: number, code: string): Faults {
  const { body, headers, request } = response;
  const type = memberOf(body, 'type');
  const instance = memberOf(body, 'instance');
  const wanted = `urn:request:${headers.get('x-request-id')}`;
  return [
    ...errorFaults(response, status, code),
    ...documentedFaults(response, 'content-type'),
    ...expectThat(
      String(type).endsWith(`/problems/${code}`),
      request,
      `a type that ends with /problems/${code}`,
      type,
    ),
    ...expectThat(instance === wanted, request, `instance ${wanted}`, instance),
  ];
}
