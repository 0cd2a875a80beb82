import type { Type } from '@nestjs/common';
import type { Config } from '../../src/config/config';
import { RateLimitStore } from '../../src/rate-limit';
import { startApp, type TestApp } from './app';
import type { RequestOptions } from './http';
import type { RedisServer } from './redis';

/** Several instances of the service on one database and one Redis. */
export interface Instances {
  readonly apps: readonly TestApp[];
  /** Returns for each instance if it shares its counters now. */
  shared(): boolean[];
  /** Sends a request to the next instance in turn. */
  get(path: string, options: RequestOptions): ReturnType<TestApp['get']>;
  close(): Promise<void>;
}

/** @param modules of a team, in every instance */
export async function startInstances(
  count: number,
  redis: RedisServer,
  settings: Partial<Config> = {},
  modules: readonly Type[] = [],
): Promise<Instances> {
  const redisUrl = redis.url();
  const apps: TestApp[] = [];
  for (let at = 0; at < count; at += 1) {
    const [first] = apps;
    apps.push(await startApp({ redisUrl, ...settings }, { modules, ...(first && { beside: first }) }));
  }
  let turn = 0;
  return {
    apps,
    shared: () => apps.map(({ nest }) => nest.get(RateLimitStore, { strict: false }).isShared),
    get: (path, options) => apps[turn++ % count]!.get(path, options),
    close: async () => {
      for (const app of apps.toReversed()) await app.close();
    },
  };
}
