import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Config } from '../platform/config/config';
import { listenError } from '../platform/errors/listen-error';

type Address = Pick<Config, 'host' | 'port'>;

/**
 * Listens on HOST and PORT. Uses Fastify's `listen`, because Nest's also logs the error that we report ourselves.
 *
 * @returns the address as a URL
 * @throws UserError
 */
export async function listen(app: NestFastifyApplication, { host, port }: Address): Promise<string> {
  try {
    return await app.getHttpAdapter().getInstance().listen({ host, port });
  } catch (error) {
    throw listenError(error, host, port, { host: 'HOST', port: 'PORT' });
  }
}
