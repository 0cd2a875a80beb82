import { createHash } from 'node:crypto';
import { stringify } from 'lossless-json';
import { validationFailed } from '../../platform/errors/platform.errors';
import type { Parameter } from './api-document';
import { withExactIntegers } from './json-schema';
import { IDEMPOTENCY_KEY, type Tool } from './tool';

/** The arguments of a call, by name. Integers beyond 2^53 are bigints. */
export type Arguments = Readonly<Record<string, unknown>>;

/** A request of HTTP that a call becomes. */
export interface ApiCall {
  readonly method: string;
  /** Below the base URL, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The response of HTTP. The names of headers are in lower case. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** The facts that make a repetition of a call the same call. */
export interface CallId {
  /** A text that makes the calls of two clients differ. */
  readonly session: string;
  readonly requestId: string | number;
}

/**
 * Makes the request of a call. The operation itself validates the values.
 *
 * @throws ApiError `validation_failed` for an unknown argument or a missing parameter of the path
 */
export function apiCallOf(tool: Tool, given: Arguments, id: CallId): ApiCall {
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(tool.inputs, name));
  if (unknown.length > 0) {
    throw validationFailed(
      unknown.map((parameter) => ({ parameter, detail: `${parameter} is not an argument of this tool` })),
    );
  }
  const values = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, withExactIntegers(value, tool.inputs[name])]),
  );
  const body = bodyOf(tool, values);
  return {
    method: tool.method,
    path: pathOf(tool, values) + queryOf(tool, values),
    headers: {
      ...headersOf(tool, values, given, id),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body }),
  };
}

function pathOf({ path }: Tool, values: Arguments): string {
  return path.replaceAll(/\{([^}]+)\}/g, (_match, name: string) => {
    const text = textOf(values[name]);
    // A URL parser removes dot segments, also encoded ones, and would reach another operation.
    if (text === '' || text === '.' || text === '..') {
      throw validationFailed([{ parameter: name, detail: `${name} is required, and names one thing` }]);
    }
    return encodeURIComponent(text.toWellFormed());
  });
}

function queryOf({ parameters }: Tool, values: Arguments): string {
  const query = new URLSearchParams();
  for (const { name } of parameters.filter(isIn('query'))) {
    const texts = [values[name]]
      .flat()
      .filter((each) => each !== undefined)
      .map(textOf);
    // Without the parameter the list would have no filter.
    if (Array.isArray(values[name]) && texts.length === 0) texts.push('');
    for (const text of texts) query.append(name, text);
  }
  return query.size === 0 ? '' : `?${query.toString()}`;
}

function headersOf(tool: Tool, values: Arguments, given: Arguments, id: CallId): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { name } of tool.parameters.filter(isIn('header'))) {
    const value = values[name] ?? (name === IDEMPOTENCY_KEY ? derivedKey(tool, given, id) : undefined);
    if (value !== undefined) headers[name.toLowerCase()] = headerText(name, value);
  }
  return headers;
}

/** Node and fetch reject control characters and characters beyond Latin-1 with errors of their own. */
function headerText(name: string, value: unknown): string {
  const text = textOf(value);
  if (!/^[\x20-\x7e]*$/.test(text)) {
    throw validationFailed([{ header: name, detail: `${name} must consist of visible ASCII characters` }]);
  }
  return text;
}

/** Clients number their requests from 0, and one id may name several calls, so the arguments are a part of it. */
function derivedKey({ definition }: Tool, given: Arguments, { session, requestId }: CallId): string {
  const facts = stringify([session, requestId, definition.name, given]) ?? '';
  return `mcp-${createHash('sha256').update(facts).digest('hex')}`;
}

function bodyOf({ body, parameters }: Tool, values: Arguments): string | undefined {
  if (body === 'none') return undefined;
  if (body === 'whole') return stringify(values['body']);
  const names = new Set(parameters.map(({ name }) => name));
  return stringify(Object.fromEntries(Object.entries(values).filter(([name]) => !names.has(name))));
}

function isIn(place: Parameter['in']): (parameter: Parameter) => boolean {
  return (parameter) => parameter.in === place;
}

/** The operation rejects the text of a wrong value, such as `{"a":1}`. */
function textOf(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : (stringify(value) ?? '');
}
