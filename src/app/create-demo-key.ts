import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ApiKeysService } from '../accounts';
import type { Config } from '../platform/config/config';
import { DAY_MS } from '../platform/runtime/time';
import type { Store } from './store';

const DEMO_KEY_DAYS = 365;

/**
 * Creates the account `demo` and a key with every scope, on the first start of a development deployment.
 *
 * @returns the secret; undefined on later starts and in other deployments
 */
export async function createDemoKey(
  app: NestFastifyApplication,
  { deployment }: Config,
  { scopes }: Store,
): Promise<string | undefined> {
  if (deployment !== 'development') return undefined;
  const issued = await app.get(ApiKeysService, { strict: false }).createFirst({
    account: 'demo',
    choice: { plan: 'business', perMinute: null, perDay: null },
    scopes,
    expiresAt: new Date(Date.now() + DEMO_KEY_DAYS * DAY_MS),
    label: 'first start',
  });
  return issued?.key;
}
