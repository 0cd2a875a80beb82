import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const VALID = /^[A-Za-z0-9._-]{1,128}$/;

/** Returns the client's `X-Request-Id` if it is valid, else a new id. Log lines and responses contain it. */
export function requestId(request: Pick<IncomingMessage, 'headers'>): string {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && VALID.test(sent) ? sent : randomUUID();
}
