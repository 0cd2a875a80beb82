import cluster, { type Worker } from 'node:cluster';
import { isMarked } from '../config/config';

/** As a method, it may have a narrower input: both sides of a name agree on the type of its value. */
type Handler = { handle(input: unknown): unknown }['handle'];

/** A request, or the response to one: `id` is that of the request. Values are those of JSON. */
interface Message {
  readonly id: number;
  readonly name?: string;
  readonly value?: unknown;
  /** The reason of a handler that has failed. */
  readonly error?: string;
}

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Requests and responses between the primary process and a worker (WORKERS). */
export class Channel {
  private readonly handlers = new Map<string, Handler>();
  private readonly pending = new Map<number, Pending>();
  private lastId = 0;

  constructor(private readonly peer: Pick<Worker | NodeJS.Process, 'send' | 'on'>) {
    // Libraries may send messages of their own.
    peer.on('message', (message: Message) => void this.receive(message).catch(() => undefined));
    peer.on('disconnect', () => {
      for (const each of this.pending.values()) each.reject(new Error('the other process has ended'));
    });
  }

  /** Responds to the requests of a name. */
  handle(name: string, handler: Handler): void {
    this.handlers.set(name, handler);
  }

  /** @throws Error if the handler fails, or the other process ends */
  ask<Result>(name: string, value?: unknown): Promise<Result> {
    this.lastId += 1;
    const id = this.lastId;
    return new Promise<Result>((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      this.send({ id, name, value }, (error) => error && reject(error));
    });
  }

  private async receive({ id, name, value, error }: Message): Promise<void> {
    if (name === undefined) {
      const asked = this.pending.get(id);
      this.pending.delete(id);
      return error === undefined ? asked?.resolve(value) : asked?.reject(new Error(error));
    }
    try {
      const result = this.handlers.get(name)?.(value);
      this.send({ id, value: result instanceof Promise ? await result : result });
    } catch (failure) {
      this.send({ id, error: String(failure) });
    }
  }

  /** A response to a process that has ended is lost. */
  private send(message: Message, done: (error: Error | null) => void = () => undefined): void {
    this.peer.send?.(message, undefined, undefined, done);
  }
}

/** The channel of a worker; undefined in any other process, the primary one included. */
export const channelToPrimary = cluster.isWorker && isMarked ? new Channel(process) : undefined;
