import type { Worker } from 'node:cluster';
import { EventEmitter } from 'node:events';
import { Channel } from '../../src/platform/runtime/channel';

/** One end of a channel of Node.js: what it sends, the other end receives as JSON. */
class End extends EventEmitter {
  peer: End | undefined;

  send(message: unknown): boolean {
    const text = JSON.stringify(message);
    return setImmediate(() => this.peer?.emit('message', JSON.parse(text))).hasRef();
  }
}

describe('the channel between the primary process and a worker', () => {
  it('responds to a question whose handler fails: without a response a worker would never ask again', async () => {
    const ends = [new End(), new End()] as const;
    [ends[0].peer, ends[1].peer] = [ends[1], ends[0]];
    const channelOf = (end: unknown) => new Channel(end as Worker);
    const [worker, primary] = [channelOf(ends[0]), channelOf(ends[1])];
    primary.handle('throws', () => {
      throw new Error('broken');
    });
    primary.handle('rejects', () => Promise.reject(new Error('lost')));
    primary.handle('adds', (value: number) => Promise.resolve(value + 1));
    await expect(worker.ask('throws')).rejects.toThrow('broken');
    await expect(worker.ask('rejects')).rejects.toThrow('lost');
    expect(await worker.ask('adds', 1)).toBe(2);
  });
});
