import type { Table } from './figures';
import { runLoad } from './load-generator';
import { loads, serviceList } from './loads';
import type { Options } from './options';
import { memoryMiB } from './process-facts';
import { startServer } from './servers';
import { createKey, seedPets, UNLIMITED, type World } from './world';

const PETS = 100_000;
const SAMPLE_SECONDS = 5;
/** The share of requests after which V8 has collected the old generation once and the heap has its final size. */
const WARM_UP_SHARE = 0.5;

/** Measures the resident memory of the process during the mixed load. */
export async function measureMemory(
  world: World,
  options: Options,
  say: (line: string) => void,
): Promise<Table> {
  const url = await world.createDatabase('memory');
  await seedPets(url, PETS);
  const key = await createKey(url, 'bench', UNLIMITED);
  const requests = loads.mix.requests({ pets: PETS, key, exhaustedKey: '' }, serviceList);
  const server = await startServer('service', { DATABASE_URL: url });
  const run = { port: server.port, requests, connections: options.connections, seconds: SAMPLE_SECONDS };
  const samples: { readonly sent: number; readonly mib: number }[] = [];
  let sent = 0;
  while (sent < options.requests) {
    sent += (await runLoad(run)).requests;
    const mib = memoryMiB(server.pid).now;
    samples.push({ sent, mib });
    say(`${sent} requests: ${mib.toFixed(0)} MiB`);
  }
  const { highest } = memoryMiB(server.pid);
  await server.stop();
  const warm = samples.filter((sample) => sample.sent >= sent * WARM_UP_SHARE);
  const [first, last] = [warm[0]?.mib ?? 0, warm.at(-1)?.mib ?? 0];
  return {
    title: `Resident memory over ${sent} requests of the 90/9/1 mix, the second half of them`,
    headings: ['requests', 'server', 'MiB at the beginning', 'at the end', 'highest'],
    rows: [[`${sent}`, 'service', first.toFixed(1), last.toFixed(1), highest.toFixed(0)]],
  };
}
