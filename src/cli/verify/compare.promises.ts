import type { ApiClient } from './api-client';
import { createdPath } from './created-animals';
import { expectThat, type Faults, KEPT, statusFaults } from './faults';
import type { ApiPromise } from './promise';

/** Conditional requests (RFC 9110, 13), as far as every key may send them. */
export const compare: readonly ApiPromise[] = [
  { name: 'GET with If-None-Match and the current ETag answers 304 without a body', check: notModified },
];

async function notModified(api: ApiClient): Promise<Faults> {
  const path = createdPath(api);
  const first = await api.get(path);
  const tag = first.headers.get('etag');
  if (tag === null) return expectThat(false, first.request, 'an ETag', undefined);
  const second = await api.send('GET', path, { headers: { 'if-none-match': tag } });
  if (second.status !== 304) return statusFaults(second, 304);
  const got = second.headers.get('etag');
  return [
    ...(second.text === '' ? KEPT : expectThat(false, second.request, 'no body', second.text)),
    ...expectThat(got === tag, second.request, `ETag: ${tag}`, got),
  ];
}
