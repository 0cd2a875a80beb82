/**
 * Ordinary clients in their own process: each sends one request after the other for a given time, of each kind that
 * needs the animals. Prints the response times.
 */
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { send } from '../../support/http';

const [, , url = '', key = '', durationMs = ''] = process.argv;
const CLIENTS = 6;
const PAUSE_MS = 10;
/** The first requests of a process are slow: their times are not counted. */
const WARM_UP_MS = 1_000;
/** The ids of the animals that exist. */
const ANIMALS = 1_000;

type Kind = (turn: number) => [method: string, path: string, body?: object];

const KINDS: readonly Kind[] = [
  () => ['GET', '/v1/pets?limit=20'],
  (turn) => ['GET', `/v1/pets?limit=${1 + (turn % 100)}`],
  (turn) => ['GET', `/v1/pets?limit=${1 + (turn % 100)}&status=sold`],
  (turn) => ['GET', `/v1/pets/${1 + (turn % ANIMALS)}`],
  (turn) => ['POST', '/v1/pets', { name: `neighbour ${turn}`, categoryId: 1 }],
];

void (async () => {
  const agent = new Agent({ keepAlive: true });
  const times: number[] = [];
  const statuses = new Set<number>();
  const begin = performance.now() + WARM_UP_MS;
  const end = begin + Number(durationMs);
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let turn = client; performance.now() < end; turn += 1) {
      const [method, path, body] = KINDS[turn % KINDS.length]!(turn);
      const startedAt = performance.now();
      const { status } = await send(url, method, path, { key, agent, body });
      if (startedAt > begin) times.push(performance.now() - startedAt);
      statuses.add(status);
      await sleep(PAUSE_MS);
    }
  });
  await Promise.all(clients);
  agent.destroy();
  times.sort((one, other) => one - other);
  const [medianMs, p99Ms] = [0.5, 0.99].map((part) => times[Math.floor(times.length * part)]);
  const result = { medianMs, p99Ms, longestMs: times.at(-1), count: times.length, statuses: [...statuses] };
  process.stdout.write(`${JSON.stringify(result)}\n`);
})();
