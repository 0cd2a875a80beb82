import { Agent } from 'node:http';
import { revert } from '../../../src/platform/database/migrate';
import { backup, backupFolder, restore } from '../../database/support/backups';
import { type OwnServer, query } from '../../failure/support/own-server';
import { send } from '../../support/http';
import { schemaConfig } from '../../support/schema-config';
import { startHere } from '../../support/start';

const FEATURE = /^PetWordsAndCounts/;

/** Expects the counts of getInventory and those of the table to be equal. */
export async function expectInventory(url: string, key: string, databaseUrl: string): Promise<void> {
  const rows = await query<{ status: string; count: number }>(
    databaseUrl,
    'SELECT status, count(*)::float8 AS count FROM pets GROUP BY status',
  );
  const counts = Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  const none = { available: 0, pending: 0, sold: 0 };
  // A new connection: a killed service has closed the earlier ones.
  const { json } = await send(url, 'GET', '/v1/store/inventory', { key, agent: new Agent() });
  expect(json).toEqual({ ...none, ...counts });
}

/** Expects exact counts right after a restore, and after a revert of the counts and a migration. */
export async function expectInventoryOfCopy(server: OwnServer, name: string, key: string): Promise<void> {
  const url = new URL(server.url());
  await query(server.adminUrl(), `CREATE DATABASE ${name} OWNER ${url.username}`);
  url.pathname = name;
  const folder = backupFolder();
  await backup({ url: server.url() }, folder.file('backup'));
  await restore({ url: url.href }, folder.file('backup'));
  folder.remove();
  const expectExact = async () => {
    const instance = await startHere({ DATABASE_URL: url.href, LOG_LEVEL: 'silent' });
    await expectInventory(instance.url, key, url.href);
    await instance.stop();
  };
  await expectExact();
  // The backup has the instances that ran.
  await query(url.href, 'DELETE FROM rate_limit_instances');
  for (let isReverted = false; !isReverted;)
    isReverted = (await revert(schemaConfig(url.href))).some((each) => FEATURE.test(each));
  await query(url.href, `DELETE FROM pets WHERE id % 5 = 0 AND status = 'sold'`);
  await expectExact();
  await query(server.adminUrl(), `DROP DATABASE ${name}`);
}
