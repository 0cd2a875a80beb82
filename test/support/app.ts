import type { Type } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp } from '../../src/app/create-app';
import { createStore } from '../../src/app/store';
import type { Extension } from '../../src/api/extension/extension';
import { ApiKeysService, type KeyRequest } from '../../src/auth';
import { type Config, readConfig } from '../../src/config/config';
import { migrate } from '../../src/database/migrate';
import { createLogger } from '../../src/http/logger';
import { runDueWork } from '../../src/time/periodic-work';
import { TestClock } from './clock';
import { createDatabase, hasPreparedStatements, type TestDatabase } from './database';
import { type HttpResponse, type RequestOptions, send } from './http';
import { PATIENCE } from './no-settings';

/** The service on a free port, with its own database and clock. */
export interface TestApp {
  readonly url: string;
  readonly nest: NestFastifyApplication;
  readonly clock: TestClock;
  readonly database: TestDatabase;
  /** Every line of the log. */
  readonly log: readonly string[];
  /** A key of a new account with all scopes. */
  readonly key: string;
  createKey(request?: Partial<KeyRequest>): Promise<{ id: string; key: string }>;
  /** Creates a key of an account with limits that no spec reaches. @param scopes default: all */
  unlimitedKey(scopes?: Extension['scopes']): Promise<string>;
  /** Sends a request with `key`, unless the options bring another one or undefined. */
  send(method: string, path: string, options?: RequestOptions): Promise<HttpResponse>;
  get(path: string, options?: RequestOptions): Promise<HttpResponse>;
  post(path: string, body: RequestOptions['body'], options?: RequestOptions): Promise<HttpResponse>;
  /** Does immediately all that is due, such as expiry and deliveries. */
  runDueWork(): Promise<void>;
  /** Stops and starts the service on the same database, with the same clock. */
  restart(meanwhile?: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

const UNLIMITED = { plan: 'enterprise', perMinute: 1e9, perDay: 1e9 } as const;

let accounts = 0;

/** The applications to close after a failed spec; they would keep jest from exiting. */
const open = new Set<TestApp>();
afterAll(async () => {
  for (const app of open) await app.close();
});

export interface AppOptions {
  /** Adds routes to the application's Fastify, as an extension does. */
  readonly beforeListen?: (nest: NestFastifyApplication) => void;
  /** Another instance that shares its database and clock with this one. Close this one first. */
  readonly beside?: TestApp;
  /** Modules of a team, in an extension of its own. */
  readonly modules?: readonly Type[];
  readonly extensions?: readonly Extension[];
  /** The database to use, dropped by `close`. Default: a new one. */
  readonly database?: TestDatabase;
}

export async function startApp(
  settings: Partial<Config> = {},
  { beforeListen, beside, modules = [], extensions = [], ...given }: AppOptions = {},
): Promise<TestApp> {
  const database = given.database ?? beside?.database ?? (await createDatabase());
  const store = createStore([...extensions, ...(modules.length > 0 ? [{ name: 'team', modules }] : [])]);
  const log: string[] = [];
  const clock = beside?.clock ?? new TestClock();
  const environment = {
    LOG_LEVEL: 'trace',
    ...PATIENCE,
    // Each connection costs the server 10 ms.
    DATABASE_POOL_SIZE: '6',
    DATABASE_PREPARED_STATEMENTS: String(hasPreparedStatements()),
  };
  const config = { ...readConfig(environment, store.settings), ...settings, databaseUrl: database.url };
  if (extensions.some(({ migrations = [] }) => migrations.length > 0)) {
    await migrate({ ...config, databaseUrl: database.directUrl, migrations: store.migrations });
  }
  const start = async () => {
    const logger = createLogger(config, { write: (line) => log.push(line) });
    const nest = await createApp(config, logger, store, clock);
    beforeListen?.(nest);
    await nest.listen(0, '127.0.0.1');
    return { nest, url: await nest.getUrl() };
  };
  let running = await start();

  const createKey = (request: Partial<KeyRequest> = {}) => {
    accounts += 1;
    return running.nest.get(ApiKeysService, { strict: false }).create({
      account: `account ${accounts}`,
      choice: { plan: 'business', perMinute: null, perDay: null },
      scopes: store.scopes,
      expiresAt: null,
      label: '',
      ...request,
    });
  };
  const { key } = await createKey();
  const sendWithKey = (method: string, path: string, options?: RequestOptions) =>
    send(running.url, method, path, { key, ...options });
  const app: TestApp = {
    get url() {
      return running.url;
    },
    get nest() {
      return running.nest;
    },
    clock,
    database,
    log,
    key,
    createKey,
    unlimitedKey: async (scopes = store.scopes) => (await createKey({ choice: UNLIMITED, scopes })).key,
    send: sendWithKey,
    get: (path, options) => sendWithKey('GET', path, options),
    post: (path, body, options) => sendWithKey('POST', path, { body, ...options }),
    runDueWork: () => runDueWork(running.nest),
    restart: async (meanwhile = () => Promise.resolve()) => {
      await running.nest.close();
      await meanwhile();
      running = await start();
    },
    close: async () => {
      open.delete(app);
      await running.nest.close();
      if (!beside) await database.drop();
      requireNoKeyIn(log);
    },
  };
  open.add(app);
  return app;
}

/** Throws if the service has logged a key. */
function requireNoKeyIn(log: readonly string[]): void {
  const leak = log.find((line) => /ask_(live|test)_[0-9A-Za-z]/.test(line));
  if (leak !== undefined) throw new Error(`a key was logged: ${leak}`);
}
