import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { aNewPet } from '../support/factories';
import { send } from '../support/http';
import { dataFolder, runProgram, running, type RunningService } from '../support/service';
import { rejectionOf, startHere } from '../support/start';
import { until } from '../support/until';

const ROOT = join(__dirname, '..', '..');
const SDK = join(ROOT, 'deploy', 'tracing', 'tracing.cjs');

/** Their log lines, of 500 bytes, are more than a pipe and its paused reader hold. */
const LOGGED_REQUESTS = 600;

describe('npm start', () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path };
  let first: RunningService;
  let receiver: Awaited<ReturnType<typeof startOtlpReceiver>>;
  beforeAll(async () => {
    receiver = await startOtlpReceiver();
  });

  const postmaster = join(folder.path, 'pg18', 'postmaster.pid');
  const postmasterPid = () => {
    try {
      return readFileSync(postmaster, 'utf8').split('\n')[0];
    } catch {
      // The file may go between two looks.
      return undefined;
    }
  };
  afterAll(() => {
    receiver.server.close();
    receiver.server.closeAllConnections();
    folder.remove();
  });

  /** Each step continues with the data folder as the step before has left it: a new one takes a second. */
  const steps = {
    'fails in one sentence if the port is in use, and leaves no lock and no key': async () => {
      const taken = createServer().listen(0, '127.0.0.1');
      await once(taken, 'listening');
      const { port } = taken.address() as AddressInfo;
      expect(await rejectionOf({ ...environment, PORT: String(port) })).toMatch(
        /^The service cannot listen \(.* EADDRINUSE: .*\)\. Stop .*, or set HOST or PORT\.$/,
      );
      taken.close();
      expect(postmasterPid()).toBeUndefined();
      // The first successful start prints the key.
      const tracing = {
        NODE_OPTIONS: `--require=${JSON.stringify(SDK)}`,
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_RESOURCE_ATTRIBUTES: 'service.instance.id=one',
        OTEL_BSP_SCHEDULE_DELAY: '50',
      };
      first = await running(
        runProgram(`void require('./src').startAnimalStore();`, { ...environment, ...tracing }),
      );
      expect(first.key).toMatch(/^ask_test_\w{36}$/);
    },
    'with deploy/tracing/tracing.cjs sends a trace of a POST: client, server, statement': async () => {
      const [trace, client] = ['a'.repeat(32), 'c'.repeat(16)];
      const options = { key: first.key, headers: { traceparent: `00-${trace}-${client}-01` } };
      await send(first.url, 'POST', '/v1/pets', { ...options, body: aNewPet() });
      const { spans } = receiver;
      await until(() => spans.some(({ parentSpanId }) => parentSpanId === client));
      const named = (name: string) =>
        spans.find((span) => span.traceId === trace && span.name.startsWith(name));
      const server = named('POST /v1/pets');
      const statement = named('pg.query:pets_insert');
      expect([server.parentSpanId, statement.parentSpanId]).toEqual([client, server.spanId]);
      for (const value of ['animal-store', 'one'])
        expect(JSON.stringify(server.resource)).toContain(`{"stringValue":"${value}"}`);
      const logged = new RegExp(`"trace_id":"${trace}".*"path":"/v1/pets"`);
      await until(() => logged.test(first.output()));
    },
    'prints a key, which it does not log, and a curl line for each operation of the specification':
      async () => {
        const logged = first.output().match(/^\{.*$/gm) ?? [];
        expect(logged.length).toBeGreaterThan(0);
        expect(logged.join('')).not.toContain(first.key);
        const lines = first.output().match(/^ {2}curl .*$/gm) ?? [];
        const [added, list, one, orders] = lines.map((line) =>
          JSON.parse(execFileSync('sh', ['-c', line], { encoding: 'utf8' })),
        );
        expect(list).toEqual(expect.arrayContaining([added, one]));
        expect(orders).toEqual([]);
        expect(first.output()).toContain(`${first.url}/docs`);
      },
    'delays no response if the reader of its standard output has stalled; follows, with one sentence and status 1, if the embedded PostgreSQL dies':
      async () => {
        const { child } = first;
        child.stdout!.pause();
        child.once('exit', () => child.stdout!.resume());
        const headers = { 'x-request-id': 'x'.repeat(128) };
        for (let sent = 0; sent < LOGGED_REQUESTS; sent += 1) {
          const { status } = await send(first.url, 'GET', `/v1/pets/${'x'.repeat(250)}`, { headers });
          expect(status).toBe(401);
        }
        process.kill(Number(postmasterPid()), 'SIGKILL');
        expect(await first.ended).toBe(1);
        expect(first.output()).toMatch(/^The embedded PostgreSQL has stopped unexpectedly\. Read .*$/m);
      },
    'finds every animal at the next start, and stops its database': async () => {
      const { url, key: printed, printed: banner, stop } = await startHere(environment);
      const { key } = first;
      expect((await send(url, 'GET', '/v1/pets?limit=100', { key })).json).toHaveLength(2);
      expect(printed).toBeUndefined();
      expect(banner).toContain('npm run -s cli -- keys create --account NAME');
      await stop();
      expect(postmasterPid()).toBeUndefined();
    },
  };
  it(`with one data folder: ${Object.keys(steps).join('; ')}`, async () => {
    expect.hasAssertions();
    for (const step of Object.values(steps)) await step();
  });
});

it.each([
  [
    'in the last moment of the start stops the service with status 0',
    'onStopSignal(() => process.exit(0));',
    0,
  ],
  ['before ends the process with status 143', '', 143],
])('a signal %s', async (_when, started, status) => {
  // The handler runs after this code, although the signal has arrived before.
  const program = `
    const { exitOnStopSignal, onStopSignal } = require('./src/app/graceful-stop');
    exitOnStopSignal();
    process.kill(process.pid, 'SIGTERM');
    ${started}
    setTimeout(() => process.exit(1), 10_000);`;
  expect(await runProgram(program, {}).ended).toBe(status);
});

/** Starts a receiver of traces in OTLP over HTTP, as JSON. Each span has the resource that it describes. */
async function startOtlpReceiver() {
  const spans: any[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { resourceSpans = [] }: any = await json(request);
    for (const { resource, scopeSpans } of resourceSpans)
      for (const span of scopeSpans.flatMap((each: any) => each.spans)) spans.push({ ...span, resource });
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  };
  const server = createHttpServer((request, response) => void receive(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { server, spans, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
