import type { CallToolResult } from '@modelcontextprotocol/server';
import type { InjectOptions, Response } from 'light-my-request';
import { stringify } from 'lossless-json';
import { validationFailed } from '../../api/errors/common.errors';
import { withExactIntegers } from './json-schema';
import type { Input, Tool } from './tool';

/** The query parameter of the next page in a `Link` header (RFC 8288). */
const NEXT_PAGE = /<[^>]*[?&]cursor=([^&>]*)[^>]*>\s*;[^,]*\brel="?next"?/;

const FAILED = 400;

/** The arguments of a call by name. Integers beyond 2^53 are bigints. */
export type Arguments = Readonly<Record<string, unknown>>;

/**
 * Makes the request of a call. The operation itself validates the values.
 *
 * @throws ApiError `validation_failed` for an unknown argument or a missing parameter of the path
 */
export function apiCallOf({ method, path, inputs }: Tool, given: Arguments): InjectOptions {
  const unknown = Object.keys(given)
    .filter((name) => inputs.every((input) => input.name !== name))
    .map((name) => `${name} is not an argument of this tool`);
  if (unknown.length > 0) throw validationFailed(unknown);
  const valuesIn = (place: Input['place']): [string, unknown][] =>
    inputs
      .filter((input) => input.place === place && Object.hasOwn(given, input.name))
      .map(({ name, schema }) => [name, withExactIntegers(given[name], schema)]);
  const hasMembers = inputs.some(({ place }) => place === 'member');
  const body = stringify(hasMembers ? Object.fromEntries(valuesIn('member')) : valuesIn('body')[0]?.[1]);
  const headers = valuesIn('header').map(([name, value]) => [name.toLowerCase(), headerText(name, value)]);
  return {
    method,
    url: '/v1' + pathOf(path, new Map(valuesIn('path'))) + queryOf(valuesIn('query')),
    headers: { ...Object.fromEntries(headers), 'content-type': 'application/json' },
    ...(body !== undefined && { payload: body }),
  };
}

function pathOf(template: string, values: ReadonlyMap<string, unknown>): string {
  return template.replaceAll(/\{([^}]+)\}/g, (_match, name: string) => {
    const text = textOf(values.get(name));
    // A URL parser removes dot segments, also encoded ones, and would reach another operation.
    if (text === '' || text === '.' || text === '..') {
      throw validationFailed([`${name} is required, and names one thing`]);
    }
    return encodeURIComponent(text.toWellFormed());
  });
}

function queryOf(values: readonly [string, unknown][]): string {
  const query = new URLSearchParams();
  for (const [name, value] of values) {
    // Without the parameter the list would have no filter.
    const each = Array.isArray(value) && value.length === 0 ? [''] : [value].flat();
    for (const item of each) query.append(name, textOf(item));
  }
  return query.size === 0 ? '' : `?${query.toString()}`;
}

/** A request over HTTP cannot have another header, and this one would be lost. */
function headerText(name: string, value: unknown): string {
  const text = textOf(value);
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  throw validationFailed([`${name} must consist of visible ASCII characters`]);
}

/** The operation rejects the text of a wrong value, such as `{"a":1}`. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (stringify(value) ?? '');
}

/**
 * Makes the result of a call. The first text is the body, exactly as HTTP has it: an agent reads integers beyond 2^53
 * in it without loss. Further texts say what an agent needs from the headers; `_meta` has the cursor and the tag as values.
 */
export function toolResult(name: string, { statusCode, headers, body }: Response): CallToolResult {
  if (statusCode >= FAILED) return failure(body, headers['retry-after']?.toString());
  const [, encoded] = NEXT_PAGE.exec(headers.link?.toString() ?? '') ?? [];
  const nextCursor = encoded === undefined ? undefined : decodeURIComponent(encoded);
  const etag = headers.etag?.toString();
  return {
    content: contentOf(
      body === '' ? `Done (${statusCode}).` : body,
      nextCursor && `More items follow: call ${name} with the same arguments and cursor "${nextCursor}".`,
      etag && !body.startsWith('[') && `ETag: ${etag}`,
      headers['idempotent-replayed'] === 'true' &&
        'This is the result of an earlier call with this Idempotency-Key. This call changed nothing.',
    ),
    _meta: { ...(nextCursor && { nextCursor }), ...(etag && { etag }) },
  };
}

/** @param body the Error body */
export function failure(body: string, retryAfter?: string): CallToolResult {
  const wait = retryAfter && `Wait ${retryAfter} seconds before the next call.`;
  return { isError: true, content: contentOf(body, wait) };
}

function contentOf(...texts: readonly (string | false | undefined)[]): CallToolResult['content'] {
  return texts.filter((text) => typeof text === 'string').map((text) => ({ type: 'text', text }));
}
