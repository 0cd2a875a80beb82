import { spawnSync } from 'node:child_process';
import { chownSync, cpSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chooseServerUser } from '../../../src/embedded-postgres/programs';
import { migrate } from '../../../src/database/migrate';
import type { TestDatabase } from '../../support/database';
import { describeWhen } from '../../support/it-when';
import { schemaConfig } from '../../support/schema-config';
import { dataFolder } from '../../support/service';
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy';

/** The folder of Debian's package of the oldest version that the service supports. */
const PROGRAMS = '/usr/lib/postgresql/15/bin';
const hasPair = existsSync(PROGRAMS);

/** Declares specs that need a pair. With CI=true they fail without the programs. */
export const describeWithPair = (name: string, specs: () => void): void =>
  describeWhen(
    hasPair || process.env['CI'] === 'true',
    'PostgreSQL 15 is not installed (Debian: apt-get install postgresql-15)',
  )(name, specs);

/** One server of a pair. */
export interface Node {
  readonly url: string;
  start(): void;
  /** Ends it and its sessions as a crash does. */
  crash(): void;
  promote(): void;
}

/** A primary and a standby of PostgreSQL 15, with the schema of the service. */
export interface Pair {
  readonly primary: Node;
  readonly standby: Node;
  /** Leads to the primary first. */
  readonly proxy: CuttingProxy;
  /** The database behind the proxy, for an application of a spec. */
  readonly database: TestDatabase;
  remove(): Promise<void>;
}

export async function startPair(): Promise<Pair> {
  const folder = dataFolder();
  const { uid, gid } = chooseServerUser() ?? {};
  const own = (path: string) => uid !== undefined && gid !== undefined && chownSync(path, uid, gid);
  own(folder.path);
  const nodeOf = (name: string, port: number): Node & { initialise(): void } => {
    const cluster = join(folder.path, name);
    const attempt = (program: string, ...args: string[]) => {
      const options = { cwd: '/', stdio: 'ignore', uid, gid } as const;
      return spawnSync(join(PROGRAMS, program), ['-D', cluster, ...args], options).status;
    };
    const run = (...args: [program: string, ...string[]]) => {
      if (attempt(...args) !== 0) throw new Error(`${args[0]} of PostgreSQL 15 failed in ${cluster}`);
    };
    const options = `-k ${folder.path} -p ${port} -c listen_addresses= -c primary_conninfo='host=${folder.path} port=5432 user=postgres'`;
    return {
      url: `postgresql://postgres@localhost:${port}/postgres?host=${folder.path}`,
      initialise: () => run('initdb', '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '-N'),
      start: () => run('pg_ctl', 'start', '-w', '-l', `${cluster}.log`, '-o', options),
      // It may have ended.
      crash: () => void attempt('pg_ctl', 'stop', '-w', '-m', 'immediate'),
      promote: () => run('pg_ctl', 'promote', '-w'),
    };
  };
  const [primary, standby] = [nodeOf('primary', 5432), nodeOf('standby', 5433)];
  primary.initialise();
  primary.start();
  await migrate(schemaConfig(primary.url));
  primary.crash();
  const copy = join(folder.path, 'standby');
  cpSync(join(folder.path, 'primary'), copy, { recursive: true, preserveTimestamps: true });
  writeFileSync(join(copy, 'standby.signal'), '');
  spawnSync('chown', ['-R', `${uid}:${gid}`, copy]);
  for (const each of [primary, standby]) each.start();
  const proxy = await startCuttingProxy(primary.url);
  const remove = async () => {
    await proxy.close();
    for (const each of [primary, standby]) each.crash();
    folder.remove();
  };
  const url = proxy.through(primary.url);
  const database = { url, directUrl: url, drop: () => Promise.resolve() } as TestDatabase;
  return { primary, standby, proxy, database, remove };
}
