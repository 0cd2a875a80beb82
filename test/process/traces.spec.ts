import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { createDatabase, type TestDatabase } from '../support/database';
import { aNewPet } from '../support/factories';
import { send } from '../support/http';
import { running, type RunningService, runScript } from '../support/service';
import { until } from '../support/until';

const ROOT = join(__dirname, '..', '..');
const SDK = join(ROOT, 'examples', 'tracing', 'tracing.mjs');
const TRACE = 'a'.repeat(32);
const CLIENT = 'c'.repeat(16);
const TRACEPARENT = `00-${TRACE}-${CLIENT}-01`;

describe('the SDK of docs/operations.md', () => {
  let database: TestDatabase;
  let receiver: OtlpReceiver;
  beforeAll(async () => {
    database = await createDatabase();
    receiver = await startOtlpReceiver();
  });
  afterAll(async () => {
    receiver.close();
    await database.drop();
  });

  function start(): Promise<RunningService> {
    const environment = {
      DATABASE_URL: database.directUrl,
      NODE_OPTIONS: `--import=${SDK}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_RESOURCE_ATTRIBUTES: 'service.instance.id=one',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    };
    return running(runScript(environment));
  }

  it('is shown as it is in examples/tracing', () => {
    const page = readFileSync(join(ROOT, 'docs', 'operations.md'), 'utf8');
    expect(page).toContain(readFileSync(SDK, 'utf8'));
  });

  it('sends one trace for the requests of a client, with the parents right', async () => {
    const service = await start();
    const options = { key: service.key, headers: { traceparent: TRACEPARENT } };
    const created = await send(service.url, 'POST', '/v1/pets', { ...options, body: aNewPet() });
    await send(service.url, 'GET', String(created.headers.location), options);
    const spans = () => receiver.spans.filter(({ traceId }) => traceId === TRACE);
    await until(() => spans().length === 8);
    const names = new Map([
      [CLIENT, 'client'],
      ...spans().map(({ spanId, name }) => [spanId, name] as const),
    ]);
    const edges = spans().map(
      (span) => `${span.service}: ${names.get(span.parentSpanId ?? '')} > ${span.name}`,
    );
    expect(edges.toSorted()).toEqual([
      'animal-store one: GET /v1/pets/:petId > pets_find',
      'animal-store one: GET /v1/pets/:petId > request checks',
      'animal-store one: POST /v1/pets > pets_insert_all',
      'animal-store one: POST /v1/pets > request checks',
      'animal-store one: client > GET /v1/pets/:petId',
      'animal-store one: client > POST /v1/pets',
      'animal-store one: key lookup > api_keys_by_secrets',
      'animal-store one: request checks > key lookup',
    ]);
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });
});

/** A span as OTLP/JSON has it, with the resource that sent it. */
interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  /** `service.name` and `service.instance.id`. */
  readonly service: string;
}

/** A receiver of traces in OTLP over HTTP, as JSON. */
interface OtlpReceiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  close(): void;
}

async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const isTrace = request.url === '/v1/traces' && request.headers['content-type'] === 'application/json';
    const body: any = await json(request);
    if (isTrace) spans.push(...spansIn(body));
    response.writeHead(isTrace ? 200 : 404, { 'content-type': 'application/json' }).end('{}');
  };
  const server = createServer((request, response) => void receive(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function spansIn({ resourceSpans }: any): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }: any) => {
    const valueOf = (name: string) =>
      resource.attributes.find(({ key }: any) => key === name)?.value.stringValue;
    const service = `${valueOf('service.name')} ${valueOf('service.instance.id')}`;
    return scopeSpans.flatMap(({ spans }: any) => spans.map((span: any) => ({ ...span, service })));
  });
}
