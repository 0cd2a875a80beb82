import { CoalescedRead } from '../../src/platform/database/coalesced-read';
import { until } from '../support/until';

describe('reads that share a query', () => {
  /** A query that resolves with its number when the spec calls `end`. */
  function queries() {
    const begun: { end: () => void; fail: () => void }[] = [];
    const query = () =>
      new Promise<number>((resolve, reject) => {
        const number = begun.length;
        begun.push({ end: () => resolve(number), fail: () => reject(new Error('unavailable')) });
      });
    return { begun, query };
  }

  it('share the next query if one is running; no read gets a query that began before it', async () => {
    const { begun, query } = queries();
    const shared = new CoalescedRead<number>();
    const first = shared.read('page', query);
    const waiting = [shared.read('page', query), shared.read('page', query)];
    expect(begun).toHaveLength(1);
    begun[0]?.end();
    expect(await first).toBe(0);
    const late = shared.read('page', query);
    expect(begun).toHaveLength(2);
    begun[1]?.end();
    expect(await Promise.all(waiting)).toEqual([1, 1]);
    begun[2]?.end();
    expect(await late).toBe(2);
  });

  it('do not share a query of another name', async () => {
    const { begun, query } = queries();
    const shared = new CoalescedRead<number>();
    const both = [shared.read('one', query), shared.read('other', query)];
    for (const each of begun) each.end();
    expect(await Promise.all(both)).toEqual([0, 1]);
  });

  it('wait only a limited time for a query that hangs; its end begins no further query', async () => {
    const { begun, query } = queries();
    const shared = new CoalescedRead<number>();
    const hanging = shared.read('page', query);
    const next = shared.read('page', query);
    await until(() => begun.length === 2);
    begun[0]?.end();
    expect(await hanging).toBe(0);
    const last = shared.read('page', query);
    expect(begun).toHaveLength(2);
    begun[1]?.end();
    expect(await next).toBe(1);
    begun[2]?.end();
    expect(await last).toBe(2);
  });

  it('fail together; the next read begins a new query', async () => {
    const { begun, query } = queries();
    const shared = new CoalescedRead<number>();
    const first = shared.read('page', query);
    const second = shared.read('page', query);
    begun[0]?.fail();
    await expect(first).rejects.toThrow('unavailable');
    begun[1]?.fail();
    await expect(second).rejects.toThrow('unavailable');
    const third = shared.read('page', query);
    begun[2]?.end();
    expect(await third).toBe(2);
  });

  it('fail if the query throws synchronously, and no read keeps waiting', async () => {
    const { begun, query } = queries();
    const shared = new CoalescedRead<number>();
    const broken = (): never => {
      throw new Error('thrown');
    };
    const first = shared.read('page', query);
    const waiting = [shared.read('page', broken), shared.read('page', broken)];
    begun[0]?.end();
    expect(await first).toBe(0);
    for (const each of waiting) await expect(each).rejects.toThrow('thrown');
    await expect(shared.read('page', broken)).rejects.toThrow('thrown');
  });
});
