import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EmbeddedServer } from '../../src/embedded-postgres';
import { SUPERUSER } from '../../src/embedded-postgres/data-folder';
import { once } from './once';
import { until } from './until';

/** Lets every role of an embedded server connect. By default only the service's role can. @returns the superuser's URL */
export async function admitAllRoles(server: EmbeddedServer): Promise<string> {
  const cluster = join(server.directory, 'pg18');
  appendFileSync(join(cluster, 'pg_hba.conf'), 'local all all trust\n');
  process.kill(Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGHUP');
  const url = superuserUrl(server.url());
  const isAdmitted = () =>
    once(url, 'SELECT 1').then(
      () => true,
      () => false,
    );
  await until(isAdmitted);
  return url;
}

export function superuserUrl(url: string): string {
  const parsed = new URL(url);
  parsed.username = SUPERUSER;
  return parsed.href;
}
