import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';

const COUNTED = Symbol('a call within a request that was counted');

/** Marks a request that this process sends to itself as a part of a request that was counted. */
export function asCountedCall(request: IncomingMessage): IncomingMessage {
  return Object.assign(request, { [COUNTED]: true });
}

export function isCountedCall({ raw }: FastifyRequest): boolean {
  return COUNTED in raw;
}
