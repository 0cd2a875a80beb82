import type { FastifyInstance } from 'fastify';
import type { InjectOptions, Response } from 'light-my-request';
import { asCountedCall } from '../platform/http/counted-call';

/** Sends a request to the routes of this process, through every hook and without a connection. No window counts it. */
export type Injection = (request: InjectOptions) => Promise<Response>;

/**
 * Fastify's own `inject` rejects every request during a stop, while requests on open connections still get responses. Its
 * module is loaded on the first use, as by Fastify.
 */
export function injectInto(fastify: FastifyInstance): Injection {
  return (request) => {
    const { inject }: typeof import('light-my-request') = require('light-my-request');
    return inject((incoming, outgoing) => fastify.routing(asCountedCall(incoming), outgoing), request);
  };
}
