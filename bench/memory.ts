import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { rounded } from './figures';
import { loads } from './loads';
import type { Measure } from './options';
import { memoryMiB } from './process-facts';
import { startServer } from './servers';
import { fill } from './world';

const SAMPLE_SECONDS = 5;
const IDLE_CONNECTIONS = 1_000;
/** The share of requests after which V8 has collected the old generation once and the heap has its final size. */
const WARM_UP_SHARE = 0.5;

/** Measures the resident memory of the process: idle, with idle connections, and during the mixed load. */
export const measureMemory: Measure = async ({ url }, { connections, pets, requests }, say) => {
  const server = await startServer('service', await fill(url, pets));
  await sleep(SAMPLE_SECONDS * 1_000);
  const idle = memoryMiB(server.pid).now;
  const connected = await withIdleConnections(server.port, () => memoryMiB(server.pid).now);
  let warm = 0;
  let sent = 0;
  while (sent < requests) {
    sent += (await server.run(loads.mix, { connections, seconds: SAMPLE_SECONDS })).requests;
    const { now } = memoryMiB(server.pid);
    if (warm === 0 && sent >= requests * WARM_UP_SHARE) warm = now;
    say(`${sent} requests: ${now.toFixed(0)} MiB`);
  }
  const { now, highest } = memoryMiB(server.pid);
  await server.stop();
  const states = {
    idle,
    [`${IDLE_CONNECTIONS} idle connections`]: connected,
    'after half of the requests': warm,
    'after all requests': now,
    highest,
  };
  const rows = Object.entries(states).map(([state, mib]) => ({ state, MiB: rounded(mib, 1) }));
  const title = `Resident memory, ${sent} requests of the 90/9/1 mix`;
  return { table: { title, rows } };
};

/** Opens connections of which each has received a response. */
async function withIdleConnections<T>(port: number, measure: () => T): Promise<T> {
  const sockets = Array.from({ length: IDLE_CONNECTIONS }, () => connect(port, '127.0.0.1'));
  for (const socket of sockets) {
    socket.write('GET /v1/pets HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    await once(socket, 'data');
  }
  const measured = measure();
  for (const socket of sockets) socket.destroy();
  return measured;
}
