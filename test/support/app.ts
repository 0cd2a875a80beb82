import type { Type } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp } from '../../src/app';
import { ApiKeysService, type KeyRequest, SCOPES } from '../../src/auth';
import { type Config, readConfig } from '../../src/config/config';
import { createLogger } from '../../src/logging/logger';
import { TestClock } from './clock';
import { createDatabase, isPooled, type TestDatabase } from './database';
import { type Answer, type RequestOptions, send } from './http';

/** The service on a free port, with a database and a clock of its own. */
export interface TestApp {
  readonly url: string;
  readonly nest: NestFastifyApplication;
  readonly clock: TestClock;
  readonly database: TestDatabase;
  /** Every line that was logged. */
  readonly log: readonly string[];
  /** A key with all scopes, of an account of its own. */
  readonly key: string;
  createKey(request?: Partial<KeyRequest>): Promise<{ id: string; key: string }>;
  /** Sends a request with `key`, unless the options bring another one or undefined. */
  send(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  get(path: string, options?: RequestOptions): Promise<Answer>;
  post(path: string, body: RequestOptions['body'], options?: RequestOptions): Promise<Answer>;
  /** Stops and starts the service on the same database, with the same clock. */
  restart(meanwhile?: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

let accounts = 0;

/** What a failing spec did not come to close would keep jest from ending. */
const open = new Set<TestApp>();
afterAll(async () => {
  for (const app of open) await app.close();
});

export interface AppOptions {
  /** Adds routes to the application's Fastify, as an extension would. */
  readonly beforeListen?: (nest: NestFastifyApplication) => void;
  /** An application whose database and clock this one shares: a further instance, to be closed before it. */
  readonly beside?: TestApp;
  /** A team's own modules, beside those of the store. */
  readonly modules?: readonly Type[];
  /** Used and dropped instead of one of its own. */
  readonly database?: TestDatabase;
}

export async function startApp(
  settings: Partial<Config> = {},
  { beforeListen, beside, modules = [], ...given }: AppOptions = {},
): Promise<TestApp> {
  const database = given.database ?? beside?.database ?? (await createDatabase());
  const log: string[] = [];
  const clock = beside?.clock ?? new TestClock();
  const environment = { LOG_LEVEL: 'trace', DATABASE_PREPARED_STATEMENTS: String(!isPooled()) };
  const config = { ...readConfig(environment), ...settings, databaseUrl: database.url };

  const start = async () => {
    const logger = createLogger(config, { write: (line) => log.push(line) });
    const nest = await createApp(config, logger, clock, modules);
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
      scopes: SCOPES,
      expiresAt: undefined,
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
    send: sendWithKey,
    get: (path, options) => sendWithKey('GET', path, options),
    post: (path, body, options) => sendWithKey('POST', path, { body, ...options }),
    restart: async (meanwhile = () => Promise.resolve()) => {
      await running.nest.close();
      await meanwhile();
      running = await start();
    },
    close: async () => {
      open.delete(app);
      await running.nest.close();
      if (!beside) await database.drop();
      refuseKeysIn(log);
    },
  };
  open.add(app);
  return app;
}

/** No spec may make the service log a key, whatever it is about. */
function refuseKeysIn(log: readonly string[]): void {
  const leak = log.find((line) => /ask_(live|test)_[0-9A-Za-z]/.test(line));
  if (leak !== undefined) throw new Error(`a key was logged: ${leak}`);
}
