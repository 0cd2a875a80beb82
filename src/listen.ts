import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Config } from './config/config';
import { codeOf } from './errors/code-of';

/** The service cannot listen; the message is one sentence for a person. */
export class ListenError extends Error {}

type Address = Pick<Config, 'host' | 'port'>;

const SENTENCES: Readonly<Record<string, (address: Address) => string>> = {
  EADDRINUSE: ({ host, port }) =>
    `${host}:${port} is already in use: stop the program that uses it, or set PORT.`,
  EACCES: ({ host, port }) => `${host}:${port} may not be used by this user: set PORT to 1024 or more.`,
};

/**
 * Listens on HOST and PORT. Fastify's own `listen`, as Nest's would log what is said in a sentence here.
 *
 * @returns the address as a URL
 * @throws ListenError
 */
export async function listen(app: NestFastifyApplication, { host, port }: Address): Promise<string> {
  try {
    return await app.getHttpAdapter().getInstance().listen({ host, port });
  } catch (error) {
    const code = codeOf(error);
    const sentence = SENTENCES[code];
    throw new ListenError(
      sentence?.({ host, port }) ??
        `${host} is no address of this machine (${code}): set HOST to one that is.`,
    );
  }
}
