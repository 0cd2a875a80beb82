import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { RedisClient } from './redis.client';
import { keysOf, probeKeysOf, type ScriptAnswer, type ScriptCharge, TAKE } from './redis.script';

/** How long a start waits to learn whether Redis is there. */
const START_LIMIT_MS = 2_000;
const WAIT_SLICES = 10;

/** A charge that is never refused, of nobody: it must be written, so a Redis that cannot write does not pass for one. */
const PROBE: ScriptCharge = {
  instance: 'probe',
  now: undefined,
  perMinute: Number.MAX_SAFE_INTEGER,
  perDay: undefined,
  minute: { used: 0, own: 0, endsAt: 0 },
  day: { used: 0, own: 0, endsAt: 0 },
  key: undefined,
};

type State = 'unknown' | 'shared' | 'alone' | 'closed';

/**
 * Runs the script in Redis while Redis is there, and knows whether it is. The first failure of any kind ends the
 * connection, and with it whatever waits for an answer; from then on nobody waits. Connections are tried again every
 * fraction of a second, each by one probe, until one succeeds.
 */
export class RedisLink {
  private readonly logger = new Logger('RateLimit');
  private state: State = 'unknown';
  /** Whose charge failed. The probe goes to the same node of a cluster. */
  private suspect = 'nobody';
  /** Grows with each connection and each failure: the answer to a probe counts only while it stays the same. */
  private epoch = 0;
  private tellState: () => void = () => undefined;

  /**
   * @param timeoutMs longest wait for an answer
   * @param rules of the script, see `rulesOf`
   */
  constructor(
    private readonly client: RedisClient,
    private readonly timeoutMs: number,
    private readonly rules: string,
  ) {
    client.on('ready', () => void this.probe());
    client.on('error', (error: Error) => this.leave(error.message));
    client.on('close', () => this.leave('the connection was closed'));
  }

  /** True while Redis answers. */
  get isShared(): boolean {
    return this.state === 'shared';
  }

  /** Connects, and goes on without Redis where it is not there; it is joined when it comes. */
  async open(): Promise<void> {
    const isKnown = new Promise<void>((resolve) => {
      this.tellState = resolve;
    });
    this.client.connect().catch(() => undefined);
    await Promise.race([isKnown, sleep(START_LIMIT_MS, undefined, { ref: false })]);
    if (this.state === 'unknown') this.leave('it does not answer');
  }

  /** What the script says of a charge. Rejects where Redis is away, and then it has been told to everybody. */
  async run(owner: string, keyId: string | undefined, charge: ScriptCharge): Promise<ScriptAnswer> {
    try {
      const text = await within(this.timeoutMs, this.ask(keysOf(owner, keyId), charge));
      const answer: ScriptAnswer = JSON.parse(String(text));
      return answer;
    } catch (error) {
      // The first failure tells; whatever else was under way ends with the connection.
      if (this.isShared) {
        this.suspect = owner;
        this.leave(messageOf(error));
      }
      throw error;
    }
  }

  close(): void {
    this.state = 'closed';
    this.client.disconnect();
  }

  /**
   * A full Redis, one that is loading and one that may not be written to answer, but not to this. One that refuses the
   * login or the database does answer, as somebody else or in another database: the client tells of that as an error.
   */
  private async probe(): Promise<void> {
    this.epoch += 1;
    const { epoch } = this;
    try {
      await within(this.timeoutMs, this.ask(probeKeysOf(this.suspect), PROBE));
      if (epoch === this.epoch) this.join();
    } catch (error) {
      if (epoch === this.epoch) this.leave(messageOf(error));
    }
  }

  private join(): void {
    if (this.state === 'closed') return;
    if (this.state === 'alone')
      this.logger.warn('Redis is back: the counters of the limit are shared again.');
    this.changeTo('shared');
  }

  private leave(reason: string): void {
    if (this.state === 'closed') return;
    this.epoch += 1;
    if (this.state !== 'alone') {
      this.logger.warn(`Redis is away (${reason}): this instance counts by itself, from what it last knew.`);
    }
    this.changeTo('alone');
    // What is wrong with this one, a frozen host or a master that is none any more, may be right with the next.
    if (this.client.status === 'ready') this.client.disconnect(true);
  }

  private changeTo(state: State): void {
    this.state = state;
    this.tellState();
  }

  /** By the hash of the script; where Redis does not know it, with the script, which it then remembers. */
  private ask(keys: readonly string[], charge: ScriptCharge): Promise<unknown> {
    return this.send('evalsha', keys, charge).catch((error: unknown) => {
      if (!messageOf(error).startsWith('NOSCRIPT')) throw error;
      return this.send('eval', keys, charge);
    });
  }

  private send(command: 'eval' | 'evalsha', keys: readonly string[], charge: ScriptCharge): Promise<unknown> {
    const script = command === 'eval' ? TAKE.lua : TAKE.sha;
    return this.client[command](script, keys.length, ...keys, JSON.stringify(charge), this.rules);
  }
}

/**
 * Counts the wait in slices, each of them once, however late its timer is; and what has arrived by the end is read
 * first. So a process that is too busy to read an answer does not take its own delay for that of Redis.
 */
function within<T>(limitMs: number, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout;
    const giveUp = (): void => reject(new Error(`no answer within ${limitMs} ms`));
    const wait = (slices: number): void => {
      const next = (): unknown => (slices > 1 ? wait(slices - 1) : setImmediate(giveUp));
      timer = setTimeout(next, limitMs / WAIT_SLICES);
    };
    wait(WAIT_SLICES);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
