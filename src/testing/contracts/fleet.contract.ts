import assert from 'node:assert/strict';
import { PLANS } from '../../accounts';
import type { Contract } from './contract';
import { type Fleet, firstBan } from './fleet';
import type { BanSettings, CreateStore } from './store-under-test';

/** The defaults of the settings. */
const SETTINGS: BanSettings = { rateLimitBanAfter: 100, rateLimitBanSeconds: 300 };
const MAX_SECONDS_BEFORE_BAN = 240;
const { free, pro } = PLANS;
const spent = { perMinute: free.perMinute, perDay: 1 };

const asTold: Fleet['wait'] = (retryAfter) => retryAfter + 0.05;
const jittered: Fleet['wait'] = (retryAfter, _nth, random) => retryAfter + 10 * random();
const atMost30: Fleet['wait'] = (retryAfter) => Math.min(retryAfter, 30) + 0.05;
const exponential: Fleet['wait'] = (_retryAfter, nth) => Math.min(32, 2 ** (nth - 1));
const after =
  (seconds: number): Fleet['wait'] =>
  () =>
    seconds;

const WAITING: readonly [name: string, fleet: Fleet][] = [
  ['40 workers wait as told', { workers: 40, pause: [0, 5], wait: asTold, limits: free }],
  ['60 workers wait as told', { workers: 60, pause: [0, 5], wait: asTold, limits: free }],
  ['100 workers wait as told', { workers: 100, pause: [0, 5], wait: asTold, limits: free }],
  ['100 workers wait up to 10 s longer', { workers: 100, pause: [0, 5], wait: jittered, limits: free }],
  [
    '17 workers that rarely send requests wait for Retry-After',
    { workers: 17, pause: [0, 60], wait: asTold, limits: { perMinute: 3, perDay: 1e6 } },
  ],
  ['100 workers on the pro plan wait as told', { workers: 100, pause: [2, 4], wait: asTold, limits: pro }],
  ['5 workers back off exponentially', { workers: 5, pause: [0, 5], wait: exponential, limits: free }],
  ['20 workers wait at most 30 s', { workers: 20, pause: [0, 5], wait: atMost30, limits: free }],
  [
    '5 workers wait at most 30 s, the day is used up',
    { workers: 5, pause: [0, 5], wait: atMost30, limits: spent },
  ],
  [
    '20 workers wait at most 30 s, the day is used up',
    { workers: 20, pause: [0, 5], wait: atMost30, limits: spent },
  ],
];

const IGNORING: readonly [name: string, fleet: Fleet][] = [
  ['a client every 100 ms', { workers: 1, pause: [0.1, 0.1], wait: after(0.1), limits: free }],
  ['a client every 500 ms', { workers: 1, pause: [0.5, 0.5], wait: after(0.5), limits: free }],
  ['20 workers each second', { workers: 20, pause: [1, 1], wait: after(1), limits: free }],
];

/**
 * Lists the promises of bans for fleets of workers that share a key.
 *
 * @param seconds the time of the clock that a fleet must run without a ban
 */
export function fleetContract(create: CreateStore, seconds: number): Contract {
  return [
    ...WAITING.map(([name, fleet]) => ({
      title: `does not ban a key if ${name}`,
      check: async () => assert.equal(await firstBan(await create(SETTINGS), fleet, seconds), undefined),
    })),
    ...IGNORING.map(([name, fleet]) => ({
      title: `bans the key of ${name} within four minutes`,
      check: async () => {
        const bannedAfter = await firstBan(await create(SETTINGS), fleet, seconds);
        assert.ok(bannedAfter !== undefined && bannedAfter < MAX_SECONDS_BEFORE_BAN, `${bannedAfter} s`);
      },
    })),
  ];
}
