import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ApiKeysService, type Plan, type PlanChoice } from '../accounts';
import { createApp } from '../app/create-app';
import { createStore } from '../app/store';
import type { GivenConfig } from '../app/build';
import { readConfig } from '../platform/config/config';
import { migrate } from '../platform/database/migrate';
import type { Extension } from '../platform/extension/extension';
import { createLogger } from '../platform/logging/logger';
import { ApiDocument } from './api-document';
import { Conformance } from './conformance';
import { HttpClient, type TestRequest, type TestResponse } from './http-client';
import { TestClock } from './test-clock';
import { startTestServer, type TestDatabase, type TestServer } from './test-server';

/** A key to create. */
export interface TestKeyOptions {
  /** Default: every scope of the store. */
  readonly scopes?: readonly string[];
  /** The name of its account. Default: a new account. */
  readonly account?: string;
  /** Default: that of the account, else `enterprise` with limits that no test reaches. */
  readonly plan?: Exclude<Plan, 'enterprise'>;
  /** Limits of the account, whose plan becomes `enterprise`. */
  readonly perMinute?: number;
  readonly perDay?: number;
  /** Default: never. */
  readonly expiresAt?: Date;
}

export interface TestStoreOptions {
  /** The extensions under test. */
  readonly extensions?: readonly Extension[];
  /** Settings that differ from the defaults. Those of the environment are not read. */
  readonly settings?: GivenConfig;
  readonly clock?: TestClock;
  /** A server that several stores share; its owner closes it. Default: a server of this store. */
  readonly server?: TestServer;
}

/** A running store with a database of its own. */
export interface TestStore {
  /** The address without a path, such as `http://127.0.0.1:41234`. */
  readonly url: string;
  readonly app: NestFastifyApplication;
  readonly clock: TestClock;
  readonly extensions: readonly Extension[];
  /** Every scope that an operation can require. */
  readonly scopes: readonly string[];
  /** The lines of the log, from the level `warn`. */
  readonly log: readonly string[];
  /** Creates an API key. @returns the secret */
  key(options?: TestKeyOptions): Promise<string>;
  /**
   * Sends a request, and compares the response with the OpenAPI document of the store.
   *
   * @param path from the root, such as `/v1/pets`
   * @throws Error if the document does not have the response
   */
  fetch(path: string, request?: TestRequest): Promise<TestResponse>;
  /** Creates a database on the server of this store. */
  createDatabase(): Promise<TestDatabase>;
  /** Stops the store, removes its database, and stops the server unless it was given. */
  close(): Promise<void>;
}

const NO_LIMIT = 1_000_000_000;

type Close = () => Promise<void>;

/**
 * Starts a store with extensions on an embedded PostgreSQL, migrated, on a free port of 127.0.0.1.
 *
 * @throws UserError for a mistake of an extension
 */
export async function startTestStore(options: TestStoreOptions = {}): Promise<TestStore> {
  const closing: Close[] = [];
  const closeAll = async (): Promise<void> => {
    for (const close of closing.splice(0).toReversed()) await close();
  };
  try {
    return await start(options, closing, closeAll);
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** @param closing gets what must be closed, in the order in which it was opened */
async function start(options: TestStoreOptions, closing: Close[], close: Close): Promise<TestStore> {
  const { extensions = [], settings = {}, clock = new TestClock() } = options;
  const store = createStore(extensions);
  const server = options.server ?? (await startTestServer());
  if (server !== options.server) closing.push(() => server.close());
  const database = await server.createDatabase();
  closing.push(() => database.drop());
  const config = {
    ...readConfig({ LOG_LEVEL: 'warn' }, store.settings),
    ...settings,
    databaseUrl: database.url,
  };
  await migrate({ ...config, migrations: store.migrations });
  const log: string[] = [];
  const logger = createLogger(config, { write: (line) => void log.push(line) });
  const app = await createApp(config, logger, store, clock);
  closing.push(() => app.close());
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const client = new HttpClient();
  closing.push(() => Promise.resolve(client.close()));
  let conformance: Conformance | undefined;
  return {
    url,
    app,
    clock,
    extensions,
    scopes: store.scopes,
    log,
    key: keyCreator(app, store.scopes),
    fetch: async (path, request = {}) => {
      conformance ??= new Conformance(new ApiDocument((await client.send(url, '/openapi.json')).text), {
        isStrict: true,
      });
      const response = await client.send(url, path, request);
      const accept = request.headers?.['accept']?.toString();
      conformance.require(request.method ?? 'GET', path, response, accept);
      return response;
    },
    createDatabase: () => server.createDatabase(),
    close,
  };
}

/** Returns a function that creates a key of a store, and returns its secret. */
export function keyCreator(app: NestFastifyApplication, allScopes: readonly string[]) {
  /** The plans of the accounts by name: a further key of an account must name its plan. */
  const plans = new Map<string, PlanChoice>();
  return async (options: TestKeyOptions = {}): Promise<string> => {
    const { account = `account ${plans.size + 1}`, scopes = allScopes, expiresAt } = options;
    const choice = choiceOf(options, plans.get(account));
    const keys = app.get(ApiKeysService, { strict: false });
    const { key } = await keys.create({ account, choice, scopes, expiresAt, label: 'test' });
    plans.set(account, choice);
    return key;
  };
}

function choiceOf(options: TestKeyOptions, known: PlanChoice | undefined): PlanChoice {
  const { plan, perMinute, perDay } = options;
  if (plan !== undefined) return { plan, perMinute: null, perDay: null };
  if (known !== undefined && perMinute === undefined && perDay === undefined) return known;
  return { plan: 'enterprise', perMinute: perMinute ?? NO_LIMIT, perDay: perDay ?? NO_LIMIT };
}
