import { Batches, MAX_ITEMS, MAX_WAITING } from '../../src/platform/database/batches';
import { isDatabaseUnavailable } from '../../src/platform/database/database-errors';

const MAX_WAIT_MS = 5_000;
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('batches', () => {
  /** The batches that were run, and functions that end them. */
  let sent: { items: readonly number[]; end: (error?: Error) => void }[];
  let batches: Batches<number, string>;
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    sent = [];
    const run = (items: readonly number[]) =>
      new Promise<string[]>((resolve, reject) => {
        const end = (error?: Error) => (error ? reject(error) : resolve(items.map((item) => `${item}`)));
        sent.push({ items, end });
      });
    batches = new Batches(run, { maxRunning: 2, maxWaitMs: MAX_WAIT_MS });
  });
  afterEach(() => jest.useRealTimers());

  /** Resolves to the result, or to the error. */
  const add = (count: number, from = 0) =>
    Array.from({ length: count }, (_, at) => batches.add(from + at).catch((error: Error) => error));
  const endAll = async () => {
    for (const each of sent) {
      each.end();
      await settled();
    }
  };
  const sizes = () => sent.map(({ items }) => items.length);

  it('join the items of a turn, at most 100 in each and two at a time; later items wait', async () => {
    const results = add(2 * MAX_ITEMS + 7);
    await settled();
    expect(sizes()).toEqual([MAX_ITEMS, MAX_ITEMS]);
    results.push(...add(3, 2 * MAX_ITEMS + 7));
    await settled();
    await endAll();
    expect(sizes()).toEqual([MAX_ITEMS, MAX_ITEMS, 10]);
    expect(await Promise.all(results)).toEqual(results.map((_, at) => `${at}`));
  });

  it('run while another one hangs', async () => {
    const hanging = add(1);
    await settled();
    for (let each = 1; each <= 3; each += 1) {
      const next = add(1, each);
      await settled();
      sent[each]!.end();
      expect(await Promise.all(next)).toEqual([`${each}`]);
    }
    sent[0]!.end();
    expect(await Promise.all(hanging)).toEqual(['0']);
  });

  it('that are rejected run their items one by one: each has its own result', async () => {
    const results = add(3);
    await settled();
    sent[0]!.end(new Error('rejected'));
    await settled();
    sent[1]!.end();
    await settled();
    sent[2]!.end(new Error('rejected, too'));
    await settled();
    sent[3]!.end();
    expect(await Promise.all(results)).toEqual(['0', new Error('rejected, too'), '2']);
  });

  it('that lose the connection reject all of their items, and repeat none', async () => {
    const results = add(3);
    await settled();
    sent[0]!.end(new Error('Connection terminated unexpectedly'));
    expect((await Promise.all(results)).every(isDatabaseUnavailable)).toBe(true);
    expect(sizes()).toEqual([3]);
  });

  it('reject an item with 503 if too many wait; those that wait succeed', async () => {
    const waiting = add(MAX_WAITING);
    expect((await Promise.all(add(1))).every(isDatabaseUnavailable)).toBe(true);
    await settled();
    await endAll();
    expect((await Promise.all(waiting)).filter((result) => typeof result !== 'string')).toEqual([]);
  });

  it('reject an item with 503 at the end of its longest wait, and do not run it', async () => {
    const first = add(2 * MAX_ITEMS + 1);
    await settled();
    jest.advanceTimersByTime(1_000);
    const second = add(1);
    jest.advanceTimersByTime(MAX_WAIT_MS - 1_000);
    expect(isDatabaseUnavailable(await first.at(-1))).toBe(true);
    await endAll();
    expect(await Promise.all(second)).toEqual(['0']);
    expect(sizes()).toEqual([MAX_ITEMS, MAX_ITEMS, 1]);
  });
});
