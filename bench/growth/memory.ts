import { join } from 'node:path';
import { loads } from '../loads';
import type { Options } from '../options';
import { memoryMiB } from '../process-facts';
import { serviceList } from '../requests';
import { startServer } from '../servers';
import { slopeOf } from '../statistics';
import type { Table } from '../table';
import { createKey, seedPets, UNLIMITED, type World } from '../world';
import { runLoad, writeRequests } from '../load-generator';
import type { Say } from './growth';

const PETS = 100_000;
const SAMPLE_SECONDS = 5;
/** The share of requests after which V8 has collected the old generation once and the heap has its final size. */
const WARM_UP_SHARE = 0.5;
const MILLION = 1_000_000;

/** Measures the resident memory of the process during the mixed load. */
export async function measureMemory(world: World, options: Options, say: Say): Promise<Table> {
  await world.createDatabase('memory');
  const url = world.urlOf('memory');
  await seedPets(url, PETS);
  const key = await createKey(url, 'bench', UNLIMITED, UNLIMITED);
  const file = join(world.folder, 'memory.txt');
  writeRequests(file, loads.mix.requests({ pets: PETS, key, exhaustedKey: '' }, serviceList));
  const server = await startServer('service', { DATABASE_URL: url });
  const samples: (readonly [requests: number, mib: number])[] = [];
  let sent = 0;
  while (sent < options.requests) {
    const { connections } = options;
    const run = { url: server.url, file, connections, seconds: SAMPLE_SECONDS, expectErrors: false };
    sent += (await runLoad(run)).requests;
    const { now } = memoryMiB(server.pid);
    samples.push([sent, now]);
    say(`${sent} requests: ${now.toFixed(0)} MiB`);
  }
  const { highest } = memoryMiB(server.pid);
  await server.stop();
  const warm = samples.filter(([requests]) => requests >= sent * WARM_UP_SHARE);
  const [first, last] = [warm[0], warm.at(-1)];
  return {
    title: `Resident memory over ${sent} requests of the 90/9/1 mix, the second half of them`,
    headings: [
      'requests',
      'server',
      'MiB at the beginning',
      'at the end',
      'highest',
      'slope, MiB per million',
    ],
    rows: [
      [
        String(sent),
        'service',
        (first?.[1] ?? 0).toFixed(0),
        (last?.[1] ?? 0).toFixed(0),
        highest.toFixed(0),
        (slopeOf(warm) * MILLION).toFixed(1),
      ],
    ],
  };
}
