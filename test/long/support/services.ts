import { ApiKeysService } from '../../../src/accounts';
import { createStore } from '../../../src/app/store';
import { createApp } from '../../../src/app/create-app';
import { readConfig } from '../../../src/platform/config/config';
import { startEmbedded } from '../../../src/embedded-postgres';
import { migrate } from '../../../src/platform/database/migrate';
import { createLogger } from '../../../src/platform/logging/logger';
import { send } from '../../support/http';
import { valueOf } from '../../support/metrics';
import { freePort } from '../../support/free-port';
import { dataFolder, runBuilt, running, type RunningService } from '../../support/service';

/** Several processes of the built service on one PostgreSQL and one Redis. */
export interface Services {
  readonly services: readonly RunningService[];
  /** Creates a key of a new account on the plan `free`. */
  createKey(): Promise<string>;
  /** Returns true if the metrics of every process show shared counters. */
  readonly areShared: () => Promise<boolean>;
  stop(): Promise<void>;
}

export async function startServices(
  count: number,
  environment: Readonly<Record<string, string>>,
): Promise<Services> {
  const folder = dataFolder();
  const server = await startEmbedded({
    dataDir: folder.path,
    dataDirIsExplicit: true,
    binDir: undefined,
    durable: false,
  });
  const store = createStore();
  const config = {
    ...readConfig({ LOG_LEVEL: 'silent' }),
    databaseUrl: server.url(),
    migrations: store.migrations,
  };
  await migrate(config);
  const keys = await createApp(config, createLogger(config), store);
  const ports = await Promise.all(Array.from({ length: count }, freePort));
  const started = ports.map((port) =>
    runBuilt('main', [], {
      DATABASE_URL: config.databaseUrl,
      LOG_LEVEL: 'silent',
      METRICS_PORT: String(port),
      ...environment,
    }),
  );
  const services = await Promise.all(started.map(running));
  let accounts = 0;
  return {
    services,
    createKey: async () => {
      const { key } = await keys.get(ApiKeysService, { strict: false }).create({
        account: `account ${++accounts}`,
        choice: undefined,
        scopes: store.scopes,
        expiresAt: undefined,
        label: '',
      });
      return key;
    },
    areShared: async () => {
      const scrapes = ports.map((port) => send(`http://127.0.0.1:${port}`, 'GET', '/metrics'));
      const responses = await Promise.all(scrapes);
      return responses.every((response) => valueOf(response, 'animal_store_rate_limit_shared') === 1);
    },
    stop: async () => {
      for (const { child } of services) child.kill('SIGTERM');
      await Promise.all(services.map(({ ended }) => ended));
      await keys.close();
      await server.stop();
      folder.remove();
    },
  };
}
