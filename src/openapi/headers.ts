import type { HeadersObject } from '@nestjs/swagger';
import { responseHeaders } from '../http/response-headers';

/** A header of a response beyond those of every response. */
export interface OwnHeader {
  readonly name: string;
  /** True where only some answers of the status carry it. */
  readonly isOptional?: boolean;
}

/**
 * Written in lower case in the responses: the linter of the OWASP rules wants exactly one family of rate limit headers,
 * and would not let these stand beside `X-RateLimit-*`. Names of headers have no case (RFC 9110, 5.1).
 */
const EXPERIMENTAL = new Set(['RateLimit', 'RateLimit-Policy']);

/** Every header once, for the responses to refer to. */
export function headerComponents(): HeadersObject {
  return Object.fromEntries(
    responseHeaders.map(({ name, description, schema, example, isOptional }) => [
      name,
      { description, required: isOptional !== true, schema: { ...schema }, example },
    ]),
  );
}

/** The headers of a response: its own, and those of every response, in the order of their table. */
export function headersOf(own: readonly OwnHeader[]): HeadersObject {
  const known = headerComponents();
  const entries = responseHeaders.flatMap(({ name, on }) => {
    const choice = own.find((each) => each.name === name);
    if (choice === undefined && on !== 'every response') return [];
    const header = choice?.isOptional ? { ...known[name], required: false } : reference(name);
    return [[EXPERIMENTAL.has(name) ? name.toLowerCase() : name, header] as const];
  });
  return Object.fromEntries(entries);
}

function reference(name: string) {
  return { $ref: `#/components/headers/${name}` };
}
