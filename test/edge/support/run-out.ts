import type { Server } from 'node:http';
import type { TestApp } from '../../support/app';

/**
 * Lets the time of all requests run out that have not arrived whole. So the machine may be slow before that.
 *
 * @returns gives later requests their time again
 */
export function runOut({ nest }: Pick<TestApp, 'nest'>): () => void {
  const server: Server = nest.getHttpServer();
  const { headersTimeout, requestTimeout } = server;
  Object.assign(server, { headersTimeout: 1, requestTimeout: 1 });
  return () => void Object.assign(server, { headersTimeout, requestTimeout });
}
