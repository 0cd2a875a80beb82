/**
 * An ordinary client in its own process: sends one request after the other for a given time, then prints the response
 * times.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'node:http';
import { send } from '../../support/http';

const [, , url = '', key = '', durationMs = ''] = process.argv;
const PAUSE_MS = 5;

void (async () => {
  const agent = new Agent({ keepAlive: true });
  const times: number[] = [];
  const statuses = new Set<number>();
  const end = performance.now() + Number(durationMs);
  while (performance.now() < end) {
    const startedAt = performance.now();
    const { status } = await send(url, 'GET', '/v1/pets?limit=20', { key, agent });
    times.push(performance.now() - startedAt);
    statuses.add(status);
    await sleep(PAUSE_MS);
  }
  agent.destroy();
  times.sort((one, other) => one - other);
  const p99Ms = times[Math.floor(times.length * 0.99)];
  process.stdout.write(`${JSON.stringify({ p99Ms, count: times.length, statuses: [...statuses] })}\n`);
})();
