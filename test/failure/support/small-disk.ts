import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseError } from 'pg';
import { type OwnServer, query } from './own-server';

/** A small file system. */
interface SmallDisk {
  /** Moves the table `pets` to it, and fills it until no further page fits. */
  fill(
    server: OwnServer,
    databaseUrl: string,
  ): Promise<{
    /** Frees its space. */
    empty: () => Promise<unknown>;
    /** Moves the table away. */
    leave: () => Promise<void>;
  }>;
  remove(): void;
}

/** Mounts a file system in memory. @returns undefined if this process may not mount */
export function mountSmallDisk(): SmallDisk | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m,mode=0777', 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  const space = join(folder, 'space');
  return {
    fill: async (server, databaseUrl) => {
      mkdirSync(space);
      chmodSync(space, 0o777);
      execFileSync('chown', ['--reference', new URL(databaseUrl).searchParams.get('host')!, space]);
      await query(server.adminUrl(), `CREATE TABLESPACE small LOCATION '${space}'`);
      await query(server.adminUrl(), 'GRANT CREATE ON TABLESPACE small TO PUBLIC');
      await query(databaseUrl, 'ALTER TABLE pets SET TABLESPACE small');
      await query(databaseUrl, 'CREATE TABLE ballast (bytes text STORAGE PLAIN) TABLESPACE small');
      for (const count of [1_000, 100, 10, 1]) await fillBy(databaseUrl, count);
      return {
        empty: () => query(databaseUrl, 'TRUNCATE ballast'),
        leave: async () => {
          await query(databaseUrl, 'ALTER TABLE pets SET TABLESPACE pg_default');
          await query(databaseUrl, 'DROP TABLE ballast');
          await query(server.adminUrl(), 'DROP TABLESPACE small');
        },
      };
    },
    remove: () => {
      execFileSync('umount', [folder]);
      rmSync(folder, { recursive: true });
    },
  };
}

/** Inserts this number of pages at a time until the disk is full. */
async function fillBy(url: string, count: number): Promise<void> {
  try {
    for (;;) {
      await query(url, `INSERT INTO ballast SELECT repeat('x', 7000) FROM generate_series(1, ${count})`);
    }
  } catch (error) {
    if (!(error instanceof DatabaseError && error.code === '53100')) throw error;
  }
}
