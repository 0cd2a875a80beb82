import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { joinEmbedded, startEmbedded } from '../../src/embedded-postgres';
import { findBinaries } from '../../src/embedded-postgres/binaries';
import { readPostmasterFile } from '../../src/embedded-postgres/postmaster-file';
import { processFacts } from '../../src/embedded-postgres/process-facts';
import { chooseServerUser } from '../../src/embedded-postgres/server-user';
import { childEnvironment, spawnAs } from '../../src/embedded-postgres/command';
import { cleanUp, options, query, rejectionOf, temporaryFolder, until } from './support/harness';

describe('the postmaster.pid of an earlier run', () => {
  const dataDir = join(temporaryFolder(), 'data');
  const cluster = join(dataDir, 'pg18');
  const pidFile = join(cluster, 'postmaster.pid');

  beforeAll(async () => {
    const server = await startEmbedded(options(dataDir));
    await query(server.url(), 'create table kept as select 42 as n');
    await server.stop();
  });
  afterAll(cleanUp);

  const leavePidFile = (pid: number, startedAt: Date): void =>
    writeFileSync(
      pidFile,
      `${pid}\n${cluster}\n${Math.floor(startedAt.getTime() / 1000)}\n5432\n${dataDir}\n\n  123456  0\nready   \n`,
    );

  const startAndCount = async (): Promise<unknown[]> => {
    const server = await startEmbedded(options(dataDir));
    try {
      return await query(server.url(), 'select n from kept');
    } finally {
      await server.stop();
    }
  };

  it('is ignored if its process has ended', async () => {
    leavePidFile(spawnSync(process.execPath, ['-e', '']).pid, new Date());
    expect(await startAndCount()).toEqual([{ n: 42 }]);
  });

  it('is ignored if a process that started later has its pid', async () => {
    // PostgreSQL ignores pids of other users, so the process runs as the server's user.
    const other = spawn('/bin/sleep', ['60'], { ...spawnAs(chooseServerUser()), stdio: 'ignore' });
    leavePidFile(other.pid!, new Date('2020-01-01'));
    try {
      expect(await joinEmbedded(options(dataDir))).toBeUndefined();
      expect(await startAndCount()).toEqual([{ n: 42 }]);
    } finally {
      other.kill();
    }
  });

  it('is rejected and kept if it names an older process that is not this server', async () => {
    leavePidFile(process.pid, new Date());
    const refusal = await rejectionOf(startEmbedded(options(dataDir)));
    expect(refusal).toContain(`names process ${process.pid} (`);
    expect(refusal).toContain(
      ", which is not this database's server: stop that process, or set DATA_DIR to another folder.",
    );
    expect(readFileSync(pidFile, 'utf8')).toContain(`${process.pid}\n`);
    expect(existsSync(join(dataDir, 'app.lock'))).toBe(false);
  });

  it('names a server whose service has ended; that server is stopped', async () => {
    leavePidFile(spawnSync(process.execPath, ['-e', '']).pid, new Date());
    const user = chooseServerUser();
    const { bin, environment } = await findBinaries({ binDir: undefined, directory: dataDir, user });
    const args = ['-D', cluster, '-k', dataDir, '-c', 'listen_addresses='];
    const env = { ...childEnvironment, ...environment };
    const orphan = spawn(join(bin, 'postgres'), args, { ...spawnAs(user), env, stdio: 'ignore' });
    orphan.unref();
    await until(
      () => readPostmasterFile(cluster)?.pid === orphan.pid && readPostmasterFile(cluster)?.ready === true,
    );
    expect(await startAndCount()).toEqual([{ n: 42 }]);
    await until(() => processFacts(orphan.pid!) === undefined);
  });
});
