import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { backupFolder } from '../../database/support/backups';
import { send } from '../../support/http';
import { runBuilt } from '../../support/service';
import { lostConnection } from './event-feed';

const MAX_PAUSE_MS = 60;
const ITEMS = 5;

/** Adds animals, also in batches, and orders, changes and removes them until `ended`. */
export async function shop(url: () => string, key: string, ended: AbortSignal): Promise<void> {
  const request = async (method: string, path: string, body?: object) => {
    const options = { key, body, agent: new Agent() };
    const response = await send(url(), method, path, options).catch(lostConnection);
    if (response === undefined || response.status === 503) await sleep(Math.random() * MAX_PAUSE_MS);
    return response?.text ? response.json : undefined;
  };
  while (!ended.aborted) {
    const pet = await request('POST', '/v1/pets', { name: 'Rex', categoryId: 1 });
    const items = Array.from({ length: ITEMS }, (_, at) => ({ name: `Rex ${at}`, categoryId: at }));
    const batch = await request('POST', '/v1/pets/batch', { items });
    if (batch?.[0]?.id !== undefined) await request('DELETE', `/v1/pets/${batch[0].id}`);
    if (pet?.id === undefined) continue;
    const path = `/v1/pets/${pet.id}`;
    await request('PATCH', path, { name: `Rex ${pet.id}`, categoryId: 2 });
    const order = await request('POST', '/v1/store/orders', { petId: pet.id });
    for (const status of Math.random() < 0.5 ? ['cancelled'] : ['approved', 'delivered'])
      if (order?.id !== undefined) await request('PATCH', `/v1/store/orders/${order.id}`, { status });
    if (Math.random() < 0.3) await request('DELETE', path);
  }
}

/** Imports files of animals until `ended`. An import fails if PostgreSQL is killed. */
export async function importAnimals(environment: Record<string, string>, ended: AbortSignal): Promise<void> {
  const folder = backupFolder();
  const file = join(folder.path, 'animals.csv');
  const rows = Array.from({ length: 300 }, (_, at) => `Imported ${at},${at % 7},sold`);
  writeFileSync(file, ['name,categoryId,status', ...rows].join('\n'));
  while (!ended.aborted) await runBuilt('cli/main', ['pets', 'import', file], environment).ended;
  folder.remove();
}
