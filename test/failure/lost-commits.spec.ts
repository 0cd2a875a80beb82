import { randomUUID } from 'node:crypto';
import type { GivenConfig } from '../../src/app/build';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { linksOf } from '../support/links';
import { MAX_START_MS } from '../support/service';
import { until } from '../support/until';
import { createWebhook, type Receiver, startReceiver } from '../webhooks/support/receivers';
import { query } from './support/own-server';
import { describeWithPair, type Pair, startPair } from './support/pair';

jest.setTimeout(2 * MAX_START_MS);

/** More than PostgreSQL reserves of a sequence at a time: their positions are used again. */
const LOST = Array.from({ length: 40 }, (_, at) => `lost ${at}`);
const NEW = LOST.map((each) => `${each} again`);
const START = '/v1/events?limit=100';

describeWithPair('after an asynchronous failover that loses changes', () => {
  let pair: Pair;
  let app: TestApp;
  let key: string;
  let receiver: Receiver;
  beforeAll(async () => {
    pair = await startPair();
    const { database } = pair;
    app = await startApp({ webhooksAllowPrivate: true } as GivenConfig, { database });
    key = await app.unlimitedKey();
    receiver = await startReceiver();
    await createWebhook(app, { url: receiver.url, types: ['pet.created'] }, { key });
  });
  afterAll(async () => {
    await app.close();
    await receiver.close();
    await pair.remove();
  });

  /** @returns its id */
  async function add(name: string, once: string = randomUUID()): Promise<number> {
    const headers = { 'idempotency-key': once };
    const { status, json } = await app.post('/v1/pets', aNewPet({ name }), { key, headers });
    expect(status).toBe(201);
    return json.id;
  }

  const delivered = (name: string) =>
    until(() => app.runDueWork().then(() => receiver.seen().includes(name)));

  /** Reads the feed from a link to the event of an animal. */
  async function read(path: string, name: string) {
    const names: string[] = [];
    for (let next = path; ;) {
      const page = await app.get(next, { key });
      expect(page.status).toBe(200);
      names.push(...page.json.map(({ data }: { data: { name: string } }) => data.name));
      next = linksOf(page)['next']!;
      if (names.includes(name)) return { names, next };
    }
  }

  it('readers and webhooks continue from kept events, the cursor of a lost one is 410, and a lost Idempotency-Key does its work again', async () => {
    const [ofKept, ofLost] = [randomUUID(), randomUUID()];
    const kept = await add('kept', ofKept);
    await delivered('kept');
    const { next: known } = await read(START, 'kept');
    // The clock of a spec stands still: a lease that the standby has would never end.
    const idle = 'SELECT * FROM webhooks WHERE is_idle';
    const states = () => Promise.all([pair.primary, pair.standby].map(({ url }) => query(url, idle)));
    await until(() =>
      states().then(([one, other]) => one?.length === 1 && JSON.stringify(one) === JSON.stringify(other)),
    );

    pair.standby.crash();
    const lost = await add('first', ofLost);
    for (const each of LOST) await add(each);
    await delivered(LOST.at(-1)!);
    const { next: unknown } = await read(known, LOST.at(-1)!);
    pair.primary.crash();
    pair.standby.start();
    pair.standby.promote();
    pair.proxy.leadTo(pair.standby.url);
    // A connection may lead to the crashed primary.
    await until(async () => (await app.get('/readyz', { key: undefined })).status === 200);

    expect(await add('kept', ofKept)).toBe(kept);
    expect(await add('first', ofLost)).not.toBe(lost);
    for (const each of NEW) await add(each);
    await delivered(NEW.at(-1)!);
    const expected = ['first', ...NEW];
    expect((await read(known, NEW.at(-1)!)).names).toEqual(expected);
    expect(receiver.seen().slice(-expected.length)).toEqual(expected);
    expectError(await app.get(unknown, { key }), 410, 'cursor_expired');
  });
});
