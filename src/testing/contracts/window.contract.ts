import assert from 'node:assert/strict';
import type { Charge } from '../../rate-limit';
import type { Contract } from './contract';
import { type CreateStore, NO_BANS, seededRandom } from './store-under-test';
import { WindowModel } from './window-model';

const MAX_STEPS = 60;

/** @param sequences the number of sequences that are compared with a model */
export function windowContract(create: CreateStore, sequences: number): Contract {
  return [
    {
      title: 'N + k concurrent requests: exactly N are admitted, each with another Remaining',
      check: () => admitsExactly(create),
    },
    {
      title: 'a window does not become longer if the clock is set back, and admits no more than the limit',
      check: () => keepsLength(create),
    },
    {
      title: 'a request exactly at midnight is counted in the day that begins',
      check: () => beginsDayAtMidnight(create),
    },
    {
      title:
        'a smaller limit applies immediately, keeps the counted requests, and never makes Remaining negative',
      check: () => appliesSmallerLimit(create),
    },
    { title: 'peek charges nothing', check: () => peeksWithoutCharge(create) },
    {
      title: 'any sequence of charges, waits and plans admits exactly as many requests as the model',
      check: () => decidesLikeModel(create, sequences),
    },
  ];
}

function charge(owner: string, perMinute: number, perDay?: number): Charge {
  return { owner, limits: { perMinute, ...(perDay === undefined ? {} : { perDay }) } };
}

async function admitsExactly(create: CreateStore): Promise<void> {
  const { store } = await create(NO_BANS);
  const own = charge('account:1', 100, 1_000);
  const decisions = await Promise.all(Array.from({ length: 250 }, async () => store.take(own)));
  const admitted = decisions.filter(({ verdict }) => verdict === 'admitted');
  assert.equal(admitted.length, 100);
  assert.equal(new Set(admitted.map(({ windows }) => windows.minute.remaining)).size, 100);
}

async function keepsLength(create: CreateStore): Promise<void> {
  const { clock, store } = await create(NO_BANS);
  const own = charge('account:1', 3, 100);
  await store.take(own);
  clock.advance({ seconds: -3_600 });
  const { windows } = await store.take(own);
  assert.deepEqual(windows.minute, { limit: 3, remaining: 1, resetAt: clock.now() + 60_000 });
  await store.take(own);
  assert.equal((await store.take(own)).verdict, 'limited');
  clock.advance({ seconds: -3_600 });
  assert.equal((await store.take(own)).windows.minute.resetAt, clock.now() + 60_000);
  clock.advance({ seconds: 30 });
  assert.equal((await store.take(own)).windows.minute.resetAt, clock.now() + 30_000);
  clock.advance({ seconds: 30 });
  assert.equal((await store.take(own)).verdict, 'admitted');
}

async function beginsDayAtMidnight(create: CreateStore): Promise<void> {
  const { clock, store } = await create(NO_BANS);
  const own = charge('account:1', 5, 1);
  await store.take(own);
  clock.advance({ seconds: 12 * 3_600 });
  const { verdict, windows } = await store.take(own);
  assert.equal(verdict, 'admitted');
  assert.deepEqual(windows.day, { limit: 1, remaining: 0, resetAt: clock.now() + 86_400_000 });
}

async function appliesSmallerLimit(create: CreateStore): Promise<void> {
  const { store } = await create(NO_BANS);
  for (let at = 0; at < 5; at += 1) await store.take(charge('account:1', 9, 100));
  const rejected = await store.take(charge('account:1', 3, 4));
  assert.equal(rejected.verdict, 'limited');
  assert.equal(rejected.windows.minute.remaining, 0);
  assert.equal(rejected.windows.day?.remaining, 0);
  const { windows } = await store.take(charge('account:1', 20, 100));
  assert.deepEqual([windows.minute.remaining, windows.day?.remaining], [14, 94]);
}

async function peeksWithoutCharge(create: CreateStore): Promise<void> {
  const { store } = await create(NO_BANS);
  const limits = { perMinute: 5, perDay: 9 };
  await store.take({ owner: 'account:1', limits });
  const before = store.peek('account:1', limits);
  assert.equal(before.minute.remaining, 4);
  assert.equal(before.day?.remaining, 8);
  assert.deepEqual(store.peek('account:1', limits), before);
}

/** Two accounts, and an address, which has no daily limit. */
async function decidesLikeModel(create: CreateStore, sequences: number): Promise<void> {
  const random = seededRandom();
  const integer = (min: number, max: number) => min + Math.floor(random() * (max - min + 1));
  for (let sequence = 0; sequence < sequences; sequence += 1) {
    const { store, clock } = await create(NO_BANS);
    const models: WindowModel[] = [];
    for (let steps = integer(1, MAX_STEPS); steps > 0; steps -= 1) {
      if (random() < 0.25) {
        clock.advance({ seconds: integer(0, random() < 0.5 ? 90_000 : 100_000_000) / 1_000 });
        continue;
      }
      const number = integer(0, 2);
      const model = (models[number] ??= new WindowModel());
      const perMinute = integer(1, 12);
      const perDay = number === 2 ? undefined : integer(1, 30);
      for (let times = integer(1, 8); times > 0; times -= 1) {
        const { verdict, windows } = await store.take(charge(`owner:${number}`, perMinute, perDay));
        const expected = model.take(clock.now(), perMinute, perDay);
        assert.deepEqual(
          { verdict, ...windows },
          expected,
          `sequence ${sequence}, ${steps} steps before its end`,
        );
      }
    }
  }
}
