import type { FastifyInstance } from 'fastify';
import { inject, type InjectOptions, type Response } from 'light-my-request';

/** Sends a request to the routes of this process, through every hook and without a connection. */
export type Injection = (request: InjectOptions) => Promise<Response>;

/** Fastify's own `inject` rejects every request during a stop, while requests on open connections still get responses. */
export function injectInto(fastify: FastifyInstance): Injection {
  return (request) => inject((incoming, outgoing) => fastify.routing(incoming, outgoing), request);
}
