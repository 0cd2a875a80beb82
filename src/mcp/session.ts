import type { FastifyRequest } from 'fastify';
import { MINUTE_MS } from '../platform/runtime/time';

/** How long a client without a session can repeat a call, at most. */
const PERIOD_MS = 10 * MINUTE_MS;

/**
 * Returns a text that makes the calls of two clients differ: `Mcp-Session-Id`. Clients of the latest revision have none.
 * For them it is the address, the program and the period of ten minutes.
 *
 * @param now in milliseconds since the epoch
 */
export function sessionOf({ headers, ip }: FastifyRequest, now: number): string {
  const { 'mcp-session-id': session, 'user-agent': program = '' } = headers;
  return session === undefined
    ? `none ${ip} ${program} ${Math.floor(now / PERIOD_MS)}`
    : `session ${String(session)}`;
}
