import { createApp } from '../../../src/app';
import { readConfig } from '../../../src/config/config';
import { createLogger } from '../../../src/logging/logger';
import type { TestApp } from '../../support/app';
import { type Answer, type RequestOptions, send } from '../../support/http';

/** Another instance of the service on the same database, by the same clock. */
export interface SecondInstance {
  get(path: string, options?: RequestOptions): Promise<Answer>;
  close(): Promise<void>;
}

export async function startSecondInstance({ database, clock }: TestApp): Promise<SecondInstance> {
  const config = { ...readConfig({ LOG_LEVEL: 'silent' }), databaseUrl: database.url };
  const nest = await createApp(config, createLogger(config), clock);
  await nest.listen(0, '127.0.0.1');
  const url = await nest.getUrl();
  return { get: (path, options) => send(url, 'GET', path, options), close: () => nest.close() };
}
