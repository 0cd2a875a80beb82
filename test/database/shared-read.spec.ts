import { SharedRead } from '../../src/database/shared-read';

describe('reads that share a query', () => {
  /** A query that answers when it is told to; what it returns is its number. */
  function queries() {
    const begun: { end: () => void; fail: () => void }[] = [];
    const query = () =>
      new Promise<number>((resolve, reject) => {
        const number = begun.length;
        begun.push({ end: () => resolve(number), fail: () => reject(new Error('away')) });
      });
    return { begun, query };
  }

  it('get the next query where one runs already: all of them one, and none a query that began before it asked', async () => {
    const { begun, query } = queries();
    const shared = new SharedRead<number>();
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

  it('of different names share nothing', async () => {
    const { begun, query } = queries();
    const shared = new SharedRead<number>();
    const both = [shared.read('one', query), shared.read('other', query)];
    for (const each of begun) each.end();
    expect(await Promise.all(both)).toEqual([0, 1]);
  });

  it('do not wait for long behind a query that hangs, and its end begins no further one', async () => {
    const { begun, query } = queries();
    const shared = new SharedRead<number>();
    const hanging = shared.read('page', query);
    const next = shared.read('page', query);
    const deadline = Date.now() + 10_000;
    while (begun.length < 2 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
    begun[0]?.end();
    expect(await hanging).toBe(0);
    const afterThat = shared.read('page', query);
    expect(begun).toHaveLength(2);
    begun[1]?.end();
    expect(await next).toBe(1);
    begun[2]?.end();
    expect(await afterThat).toBe(2);
  });

  it('fail together, and those who come next begin anew', async () => {
    const { begun, query } = queries();
    const shared = new SharedRead<number>();
    const first = shared.read('page', query);
    const second = shared.read('page', query);
    begun[0]?.fail();
    await expect(first).rejects.toThrow('away');
    begun[1]?.fail();
    await expect(second).rejects.toThrow('away');
    const third = shared.read('page', query);
    begun[2]?.end();
    expect(await third).toBe(2);
  });

  it('fail where the query throws at once, and leave nobody waiting', async () => {
    const { begun, query } = queries();
    const shared = new SharedRead<number>();
    const broken = (): never => {
      throw new Error('at once');
    };
    const first = shared.read('page', query);
    const waiting = [shared.read('page', broken), shared.read('page', broken)];
    begun[0]?.end();
    expect(await first).toBe(0);
    for (const each of waiting) await expect(each).rejects.toThrow('at once');
    await expect(shared.read('page', broken)).rejects.toThrow('at once');
  });
});
