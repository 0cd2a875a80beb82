import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Client } from 'pg';
import { ApiKeysService, type Plan, type PlanChoice } from '../auth';
import { createStore } from '../app/store';
import { buildService, type GivenConfig } from '../app/build';
import { startEmbedded } from '../embedded-postgres';
import { readConfig } from '../config/config';
import type { ExtensionModule } from '../api/extension/extension';
import { Clock } from '../time/clock';
import { runDueWork } from '../time/periodic-work';
import { ApiDocument } from './api-document';
import { sendRequest, type TestRequest, type TestResponse } from './http-client';

/** A clock that only a test advances. Like the system's clock it has whole milliseconds. */
export class TestClock extends Clock {
  private time = Date.parse('2026-11-21T12:00:00Z');

  now(): number {
    return this.time;
  }

  advance({ seconds }: { readonly seconds: number }): void {
    this.time += Math.round(seconds * 1_000);
  }
}

export interface TestKeyOptions {
  /** Default: every scope of the store. */
  readonly scopes?: readonly string[];
  /** The name of its account. Default: a new account. */
  readonly account?: string;
  /** Default: the account's plan, else `enterprise` with limits that no test reaches. */
  readonly plan?: Exclude<Plan, 'enterprise'>;
  /** Limits of the account, whose plan becomes `enterprise`. */
  readonly perMinute?: number;
  readonly perDay?: number;
  /** Default: never. */
  readonly expiresAt?: Date;
}

/** A database for one store or one check. */
export interface TestDatabase {
  readonly url: string;
  drop(): Promise<unknown>;
}

export interface TestStoreOptions {
  readonly extensions?: readonly ExtensionModule[];
  /** Settings that differ from the defaults. The environment is not read. */
  readonly settings?: GivenConfig;
  readonly clock?: TestClock;
  /** Creates an empty database. Default: on an embedded PostgreSQL of this store. */
  readonly createDatabase?: () => Promise<TestDatabase>;
}

/** A running store with a database of its own. */
export interface TestStore {
  /** The address without a path, such as `http://127.0.0.1:41234`. */
  readonly url: string;
  readonly app: NestFastifyApplication;
  readonly clock: TestClock;
  readonly extensions: readonly ExtensionModule[];
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
  /** Does immediately all that is due: what expires, deliveries of webhooks, counts that wait to be written. */
  runDueWork(): Promise<void>;
  /** Creates an empty database on the server of this store. */
  createDatabase(): Promise<TestDatabase>;
  /** Stops the store, removes its database, and stops its server. */
  close(): Promise<void>;
}

const NO_LIMIT = 1_000_000_000;

/**
 * Starts a store with extensions on an embedded PostgreSQL, migrated, on a free port of 127.0.0.1.
 *
 * @throws UserError for a mistake of an extension
 */
export async function startTestStore(options: TestStoreOptions = {}): Promise<TestStore> {
  const { extensions = [], settings = {}, clock = new TestClock() } = options;
  /** In the order in which their objects were opened. */
  const closing: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const each of closing.splice(0).toReversed()) await each();
  };
  try {
    const store = createStore(extensions);
    const createDatabase = options.createDatabase ?? (await startServer(closing));
    const database = await createDatabase();
    closing.push(() => database.drop());
    // A busy machine must not make concurrent requests 503.
    const defaults = readConfig({ LOG_LEVEL: 'warn', DATABASE_POOL_WAIT_MS: '20000' }, store.settings);
    const config = { ...defaults, ...settings, databaseUrl: database.url };
    const log: string[] = [];
    const { app } = await buildService(config, store, { write: (line) => void log.push(line) }, clock);
    closing.push(() => app.close());
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    const key = keyCreator(app.get(ApiKeysService, { strict: false }), store.scopes);
    let document: ApiDocument | undefined;
    const fetch = async (path: string, request: TestRequest = {}): Promise<TestResponse> => {
      const response = await sendRequest(url, path, request);
      document ??= new ApiDocument((await sendRequest(url, '/openapi.json')).text);
      document.require(request.method ?? 'GET', path, response);
      return response;
    };
    const work = { runDueWork: () => runDueWork(app), createDatabase };
    return { url, app, clock, extensions, log, key, fetch, ...work, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Starts an embedded PostgreSQL in a temporary folder. @returns a function that creates a database on it */
async function startServer(closing: (() => Promise<unknown>)[]): Promise<() => Promise<TestDatabase>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'animal-store-testing-'));
  closing.push(() => rm(dataDir, { recursive: true, force: true }));
  const server = await startEmbedded({ dataDir, durable: false });
  closing.push(() => server.stop());
  const client = new Client({ connectionString: server.url() });
  await client.connect();
  closing.push(() => client.end());
  return async () => {
    const name = `test_${randomUUID().replaceAll('-', '')}`;
    await client.query(`CREATE DATABASE ${name} STRATEGY FILE_COPY`);
    return { url: server.url(name), drop: () => client.query(`DROP DATABASE ${name} WITH (FORCE)`) };
  };
}

function keyCreator(keys: ApiKeysService, all: readonly string[]): TestStore['key'] {
  const accounts = new Set<string>();
  return async (options = {}) => {
    const { account = `account ${accounts.size + 1}`, scopes = all, expiresAt = null, ...limits } = options;
    const { plan = 'enterprise', perMinute = NO_LIMIT, perDay = NO_LIMIT } = limits;
    const numbers = plan === 'enterprise' ? { perMinute, perDay } : { perMinute: null, perDay: null };
    // A further key of an account has its plan unless the options name one.
    const isKnown = accounts.has(account) && Object.keys(limits).length === 0;
    const choice: PlanChoice | undefined = isKnown ? undefined : { plan, ...numbers };
    accounts.add(account);
    return (await keys.create({ account, choice, scopes, expiresAt, label: 'test' })).key;
  };
}
