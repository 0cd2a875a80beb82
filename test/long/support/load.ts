import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { isOutcomeUnknown } from '../../failure/support/expect-unavailable';
import { type HttpResponse, send } from '../../support/http';
import { once as query } from '../../support/once';
import { until } from '../../support/until';
import { type Receiver, startReceiver } from '../../webhooks/support/receivers';
import { FeedReader, lostConnection, RebuiltTables, settle, tablesOf } from './event-feed';
import { AnimalLedger, type AnimalState, changedName, postOnce } from './ledger';

const WRITERS = 3;
/** Concurrent creations of a writer: some wait for others and are joined. */
const BURST = 8;
const BUYERS = 2;
/** Each order takes the next of these ways. */
const WAYS = [['approved', 'delivered'], ['cancelled'], []];
const PAUSE_MS = 50;
const RETRY_MS = 100;

/** A webhook gets one event after the other, so not all of them. */
const WEBHOOK_TYPE = 'order.placed';
const DELIVERED_MS = 120_000;

type Sent = readonly [method: string, path: string, body?: object];

/** Clients of all instances that remember each acknowledged change. */
export class Load {
  /** When a creation was acknowledged, by performance.now(). */
  readonly created: number[] = [];
  private readonly animals = new AnimalLedger();
  private readonly orders = new Map<number, Set<number>>();
  private readonly unsold: number[] = [];
  private readonly tables = new RebuiltTables();
  private readonly readers: readonly FeedReader[];
  private applied = 0;
  private ended = new AbortController();
  private work: Promise<unknown>[] = [];
  private turn = 0;

  private constructor(
    private readonly urls: () => readonly string[],
    private readonly key: string,
    readonly receiver: Receiver,
  ) {
    this.readers = [() => this.url(), () => urls()[0]!].map((url) => new FeedReader(url, key));
  }

  /** @param urls of the instances, which a restart changes */
  static async on(urls: () => readonly string[], key: string): Promise<Load> {
    const receiver = await startReceiver();
    const body = { url: receiver.url, types: [WEBHOOK_TYPE] };
    await send(urls()[0]!, 'POST', '/v1/webhooks', { key, body });
    return new Load(urls, key, receiver);
  }

  start(): void {
    this.ended = new AbortController();
    const { signal } = this.ended;
    const repeat = async (act: () => Promise<void>): Promise<void> => {
      while (!signal.aborted) {
        await act();
        await sleep(PAUSE_MS);
      }
    };
    const burst = async () => void (await Promise.all(Array.from({ length: BURST }, () => this.create())));
    const writers = [burst, () => this.createOnce()];
    this.work = [() => this.sell(), ...Array.from({ length: WRITERS }, () => writers).flat()].map(repeat);
    this.work.push(...this.readers.map((reader) => reader.follow(signal)));
  }

  async stop(): Promise<void> {
    this.ended.abort();
    await Promise.all(this.work);
  }

  close(): Promise<void> {
    return this.receiver.close();
  }

  /** Compares what the clients know with the tables of the primary, after `stop`. */
  async compare(primaryUrl: string) {
    const stored = await query<{ name: string }>(primaryUrl, 'SELECT name FROM pets');
    const faults = this.animals.faults(stored.map(({ name }) => name));
    const sold = await query<{ id: string; pet: string }>(
      primaryUrl,
      'SELECT id, pet_id AS pet FROM store_orders',
    );
    for (const [pet, orders] of this.orders) {
      const ids = sold.filter((each) => Number(each.pet) === pet).map(({ id }) => Number(id));
      if (ids.length > 1 || orders.size > 1) faults.push(`order of animal ${pet}: added,added`);
      for (const id of orders) if (!ids.includes(id)) faults.push(`order ${id}: absent`);
    }
    await settle(primaryUrl);
    await Promise.all(this.readers.map((reader) => reader.readAll()));
    const events = await query<{ id: string; type: string }>(
      primaryUrl,
      'SELECT id, type FROM events ORDER BY id',
    );
    const idsOf = (some: readonly { id: string | number }[]) => some.map(({ id }) => Number(id));
    const inFeed = this.readers.flatMap((reader) => differences(idsOf(events), idsOf(reader.events)));
    const wanted = idsOf(events.filter(({ type }) => type === WEBHOOK_TYPE));
    const deliveredIds = () => [...new Set(idsOf(this.receiver.deliveries))];
    await until(() => deliveredIds().length >= wanted.length, DELIVERED_MS).catch(() => undefined);
    const inDeliveries = differences(wanted, deliveredIds());
    const twice = faults.filter((each) => each.endsWith(',added'));
    return {
      acknowledged: this.created.length + [...this.orders.values()].reduce((sum, { size }) => sum + size, 0),
      // Acknowledged, but not in the tables; or rejected, but there.
      lost: faults.length - twice.length,
      twice: twice.length,
      // Missing, repeated or out of order in the feed.
      events: inFeed.length,
      // Missing at the receiver, or its first delivery is out of order.
      deliveries: inDeliveries.length,
      details: [...faults, ...inFeed, ...inDeliveries, ...(await this.differingRows(primaryUrl))],
    };
  }

  /** Compares the tables with those that the events rebuild. */
  private async differingRows(primaryUrl: string): Promise<string[]> {
    const { events } = this.readers[0]!;
    this.tables.apply(events.slice(this.applied));
    this.applied = events.length;
    const [stored, rebuilt] = [await tablesOf(primaryUrl), this.tables.lines];
    return stored.join() === rebuilt.join() ? [] : differences(stored, rebuilt);
  }

  private url(): string {
    const urls = this.urls();
    return urls[this.turn++ % urls.length]!;
  }

  /** Creates an animal with one request and reads it, then changes or removes some. */
  private async create(): Promise<void> {
    const name = `once ${randomUUID()}`;
    const created = await this.write(name, 'added', 201, 'POST', '/v1/pets', { name, categoryId: 1 });
    if (!created) return sleep(RETRY_MS);
    const path = created.headers['location']!;
    const turn = this.created.push(performance.now()) % 8;
    const read = await this.request('GET', path);
    if (read && read.status !== 503 && read.text !== created.text)
      throw new Error(`${created.text} was read as ${read.text}`);
    if (turn === 1) await this.write(name, 'changed', 200, 'PATCH', path, { name: changedName(name) });
    if (turn === 2) await this.write(name, 'absent', 204, 'DELETE', path);
  }

  /** Sends a write of an animal and records it. @returns the response of a success */
  private async write(name: string, became: AnimalState, success: number, ...sent: Sent) {
    const response = await this.request(...sent);
    const isDone = response?.status === success;
    if (response && !isDone && response.status !== 503) throw new Error(`unexpected: ${response.text}`);
    const isUnknown = response === undefined || isOutcomeUnknown(response);
    this.animals.record(name, became, isDone ? 'done' : isUnknown ? 'unknown' : 'failed');
    return isDone ? response : undefined;
  }

  /** @returns undefined if the connection is lost */
  private request(...[method, path, body]: Sent): Promise<HttpResponse | undefined> {
    // A new connection: a killed service has closed the earlier ones.
    const options = { key: this.key, body, agent: new Agent() };
    return send(this.url(), method, path, options).catch(lostConnection);
  }

  /** Creates an animal, with the same Idempotency-Key until it is acknowledged. */
  private async createOnce(): Promise<void> {
    const name = `key ${randomUUID()}`;
    const { json } = await this.postOnce('/v1/pets', { name, categoryId: 1 });
    this.animals.record(name, 'added', 'done');
    this.created.push(performance.now());
    this.unsold.push(json.id);
  }

  /** Has several buyers order the same animal. */
  private async sell(): Promise<void> {
    const petId = this.unsold.shift();
    if (petId === undefined) return;
    const buyers = Array.from({ length: BUYERS }, () => this.postOnce('/v1/store/orders', { petId }));
    const responses = await Promise.all(buyers);
    const isExpected = ({ status, json }: HttpResponse) =>
      status === 201 || json.code === 'pet_not_available';
    const other = responses.find((response) => !isExpected(response));
    if (other) throw new Error(`unexpected response: ${other.text}`);
    const placed = responses.filter(({ status }) => status === 201);
    this.orders.set(petId, new Set(placed.map(({ json }) => json.id)));
    for (const { headers } of placed)
      for (const status of WAYS[this.orders.size % WAYS.length]!)
        await this.request('PATCH', headers['location']!, { status });
  }

  private postOnce(path: string, body: object): Promise<HttpResponse> {
    return postOnce(() => this.url(), this.key, path, body);
  }
}

/** Returns the ids that are missing, unknown, repeated or out of order. */
function differences<Id extends number | string>(expected: readonly Id[], seen: readonly Id[]): string[] {
  const [known, found] = [new Set(expected), new Set(seen)];
  return [
    ...expected.filter((id) => !found.has(id)).map((id) => `${id}: missing in events`),
    ...seen.filter((id) => !known.has(id)).map((id) => `${id}: unknown event`),
    ...seen.filter((id, at) => at > 0 && id <= seen[at - 1]!).map((id) => `${id}: repeated or late event`),
  ];
}
