import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import type { GivenConfig } from '../../../src/app/build';
import { startApp, type TestApp } from '../../support/app';
import { followDatabase } from '../../support/clock';
import type { HttpResponse, RequestOptions } from '../../support/http';
import { settle } from '../../events/support/feed';

export const PATH = '/v1/webhooks';

/** A request that a receiver got. */
export interface Delivery {
  readonly id: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

export type Respond = (response: ServerResponse, delivery: Delivery) => void;

/** A receiver on loopback. */
export interface Receiver {
  readonly url: string;
  readonly deliveries: Delivery[];
  /** Connections since its start. */
  readonly connections: () => number;
  /** The values of a member of the data of each delivery. */
  readonly seen: (member?: string) => unknown[];
  respond: Respond;
  /** Waits until it has got as many requests. */
  received(count: number): Promise<void>;
  close(): Promise<void>;
}

export const respondWith =
  (status: number, headers: Record<string, string> = {}): Respond =>
  (response) =>
    response.writeHead(status, headers).end('ignored');

export async function startReceiver(respond: Respond = respondWith(200)): Promise<Receiver> {
  const deliveries: Delivery[] = [];
  const arrivals = new EventEmitter();
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const headers = request.headers as Record<string, string>;
    const receive = async () => {
      const delivery = { id: headers['webhook-id'] ?? '', headers, body: await text(request) };
      deliveries.push(delivery);
      arrivals.emit('delivery');
      receiver.respond(response, delivery);
    };
    // The service has aborted its request.
    receive().catch(() => undefined);
  });
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A failed spec does not close it.
  server.unref();
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hooks?a=1`,
    deliveries,
    connections: () => sockets.size,
    seen: (member = 'name') => deliveries.map(({ body }) => JSON.parse(body).data[member]),
    respond,
    received: async (count) => {
      while (deliveries.length < count) await once(arrivals, 'delivery');
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return receiver;
}

/** Verifies a delivery as a receiver does at the time of the clock. @throws Error if it is not valid */
export function verified({ clock }: TestApp, secret: string, { body, headers }: Omit<Delivery, 'id'>): any {
  const now = jest.spyOn(Date, 'now').mockReturnValue(clock.now());
  try {
    return new Webhook(secret).verify(body, headers);
  } finally {
    now.mockRestore();
  }
}

/** Creates a webhook. @returns its body and its path */
export async function createWebhook(app: TestApp, body: object, options: RequestOptions = {}) {
  const response = await app.post(PATH, body, options);
  if (response.status !== 201) throw new Error(response.text);
  return { ...response.json, path: `${PATH}/${response.json.id}` };
}

/** Adds animals with these names, and waits until readers see all events. @returns the ids */
export async function addPets(app: TestApp, ...names: string[]): Promise<number[]> {
  const items = names.map((name) => ({ name, categoryId: 1 }));
  const { json } = items.length > 0 ? await app.post('/v1/pets/batch', { items }) : { json: [] };
  await settle(app);
  return json.map(({ id }: { id: number }) => id);
}

/** Webhooks may have any URL. */
export const SETTINGS = { webhooksAllowPrivate: true, metricsPort: 0 } as GivenConfig;

/** The service that the specs of a block share, with an account and a receiver of each spec. */
export interface Shop {
  app: TestApp;
  receiver: Receiver;
  account: string;
  key: string;
  /** Creates a webhook of the receiver. @returns its body and its path */
  create(body?: object): Promise<any>;
  state(path: string): Promise<any>;
  update(path: string, body: object): Promise<HttpResponse>;
  /** Sends a test. @returns its outcome */
  test(path: string): Promise<any>;
}

/** Starts a service for the specs of a block. After each of them no webhook is left. */
export function startShop(): Shop {
  const shop = {
    create: (body = {}) => createWebhook(shop.app, { url: shop.receiver.url, ...body }, { key: shop.key }),
    state: async (path) => (await shop.app.get(path, { key: shop.key })).json,
    update: (path, body) => shop.app.send('PATCH', path, { key: shop.key, body }),
    test: async (path) => (await shop.app.post(`${path}/test`, undefined, { key: shop.key })).json,
  } as Shop;
  beforeAll(async () => {
    shop.app = await startApp(SETTINGS);
  });
  beforeEach(async () => {
    // The database lets nothing expire before its own time.
    await followDatabase(shop.app, -10);
    shop.account = randomUUID();
    ({ key: shop.key } = await shop.app.createKey({ account: shop.account }));
    shop.receiver = await startReceiver();
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await shop.app.database.query('DELETE FROM webhooks');
    await shop.receiver.close();
  });
  afterAll(() => shop.app.close());
  return shop;
}
