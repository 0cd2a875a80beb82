import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { DeliveryWorker } from '../../../src/webhooks/delivery-worker';
import type { TestApp } from '../../support/app';
import type { RequestOptions } from '../../support/http';
import { until } from '../../support/until';
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
  close(): Promise<void>;
}

export const respondWith =
  (status: number, headers: Record<string, string> = {}): Respond =>
  (response) =>
    response.writeHead(status, headers).end('ignored');

export async function startReceiver(respond: Respond = respondWith(200)): Promise<Receiver> {
  const deliveries: Delivery[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    const headers = request.headers as Record<string, string>;
    const receive = async () => {
      const delivery = { id: headers['webhook-id'] ?? '', headers, body: await text(request) };
      deliveries.push(delivery);
      receiver.respond(response, delivery);
    };
    // The service has aborted its request.
    receive().catch(() => undefined);
  });
  server.on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A failed spec does not close it.
  server.unref();
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hooks?a=1`,
    deliveries,
    connections: () => connections,
    seen: (member = 'name') => deliveries.map(({ body }) => JSON.parse(body).data[member]),
    respond,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
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

/** Begins the deliveries that are due, as each tick does. */
export function tick(app: TestApp): Promise<void> {
  return app.nest.get(DeliveryWorker, { strict: false }).run();
}

/** Waits for the tick under way, which has read the clock: then a spec can move it. */
export async function ticked(app: TestApp): Promise<void> {
  await app.nest.get(DeliveryWorker, { strict: false })['running'];
}

/** Waits for the turns under way, which read the clock when they end. */
export async function ended(app: TestApp): Promise<void> {
  await Promise.all(app.nest.get(DeliveryWorker, { strict: false })['turns'].values());
}

/** Waits until the receiver has got as many requests. */
export async function received(app: TestApp, receiver: Receiver, count: number): Promise<void> {
  await tick(app);
  await until(() => receiver.deliveries.length >= count);
}

/** Begins a delivery, and waits until as many in succession have failed. */
export async function failed(app: TestApp, path: string, count: number): Promise<void> {
  await tick(app);
  const attempts = 'SELECT FROM webhooks WHERE id = $1 AND attempts = $2';
  await until(async () => (await app.database.query(attempts, [path.split('/').at(-1), count])).length === 1);
}

/** Waits until no instance has a lease. */
export async function settled({ clock, database }: TestApp): Promise<void> {
  const leased = 'SELECT FROM webhooks WHERE due_at > $1 AND attempts = 0';
  await until(async () => (await database.query(leased, [new Date(clock.now())])).length === 0);
}

/** Creates a webhook. @returns its body and its path */
export async function createWebhook(app: TestApp, body: object, options: RequestOptions = {}) {
  const response = await app.post(PATH, body, options);
  if (response.status !== 201) throw new Error(response.text);
  return { ...response.json, path: `${PATH}/${response.json.id}` };
}

/** Adds animals with these names, and waits until readers see their events. */
export async function addPets(app: TestApp, ...names: string[]): Promise<void> {
  for (const name of names) await app.post('/v1/pets', { name, categoryId: 1 });
  await settle(app);
}
