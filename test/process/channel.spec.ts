import type { Worker } from 'node:cluster';
import { EventEmitter } from 'node:events';
import { Channel } from '../../src/platform/runtime/channel';
import { SystemClock } from '../../src/platform/runtime/clock';
import type { Limits } from '../../src/rate-limit';
import { decideFor, PrimaryStore } from '../../src/rate-limit/primary.store';

/** One end of a channel of Node.js: what it sends, the other end receives as JSON. */
class End extends EventEmitter {
  peer: End | undefined;

  send(message: unknown): boolean {
    const text = JSON.stringify(message);
    return setImmediate(() => this.peer?.emit('message', JSON.parse(text))).hasRef();
  }
}

/** The two ends of a channel. */
function connected(): readonly [Channel, Channel] {
  const ends = [new End(), new End()] as const;
  [ends[0].peer, ends[1].peer] = [ends[1], ends[0]];
  const channelOf = (end: unknown) => new Channel(end as Worker);
  return [channelOf(ends[0]), channelOf(ends[1])];
}

describe('the channel between the primary process and a worker', () => {
  it('responds to a question whose handler fails: without a response a worker would never ask again', async () => {
    const [worker, primary] = connected();
    primary.handle('throws', () => {
      throw new Error('broken');
    });
    primary.handle('rejects', () => Promise.reject(new Error('lost')));
    primary.handle('adds', (value: number) => Promise.resolve(value + 1));
    await expect(worker.ask('throws')).rejects.toThrow('broken');
    await expect(worker.ask('rejects')).rejects.toThrow('lost');
    expect(await worker.ask('adds', 1)).toBe(2);
  });

  it('counts each request once if the decision on another one of the same message fails', async () => {
    const [worker, primary] = connected();
    const taken: string[] = [];
    const take = (owner: string) => {
      taken.push(owner);
      if (owner === 'broken') throw new Error('no decision');
      return { windows: {} };
    };
    decideFor(primary, { take } as unknown as Limits);
    const store = new PrimaryStore(new SystemClock(), worker);
    const decided = ['one', 'broken', 'other'].map((owner) => store.take(owner, { perMinute: 1, perDay: 1 }));
    const settled = await Promise.allSettled(decided);
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(settled[1]).toMatchObject({ reason: { message: 'Error: no decision' } });
    expect(taken).toEqual(['one', 'broken', 'other']);
  });
});
