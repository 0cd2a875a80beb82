import { ADDRCONFIG, type LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';

/** Longest attempt to connect. Sharing resumes within a second of the return of Redis, even if packets are lost. */
const CONNECT_LIMIT_MS = 750;
/** When the library closes the socket of an attempt that has been given up. */
const SOCKET_LIMIT_MS = 10 * CONNECT_LIMIT_MS;
const PING_INTERVAL_MS = 500;

interface ScriptInput {
  readonly keys: string[];
  readonly arguments: string[];
}

export interface RedisClient {
  evalSha(sha: string, input: ScriptInput): Promise<unknown>;
  eval(script: string, input: ScriptInput): Promise<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  destroy(): void;
}

const OPTIONS = {
  // The protocol that Redis 5 supports, too.
  RESP: 2,
  // The caller limits the time of a command.
  commandOptions: { timeout: 0 },
  // A command without a connection fails: a request cannot wait for Redis, and a repeated one would count twice.
  disableOfflineQueue: true,
  // Neither a `timeout` of Redis nor a network ends a connection that is never idle.
  pingInterval: PING_INTERVAL_MS,
  disableClientInfo: true,
  maintNotifications: 'disabled',
} as const;

export class RedisConnector {
  private readonly template = importTemplate();
  /** Of the host, while they are looked up. */
  private addresses: Promise<LookupAddress[]> | undefined;

  constructor(private readonly url: string) {}

  async connect(): Promise<RedisClient> {
    const template = await this.template;
    // The caller connects again, perhaps to another server, such as a new master.
    const socket = {
      connectTimeout: SOCKET_LIMIT_MS,
      reconnectStrategy: false,
      lookup: this.lookUp,
    } as const;
    const client = template.duplicate({ url: this.url, socket });
    client.on('error', () => undefined);
    const connecting = client.connect();
    try {
      // A frozen Redis accepts the connection, but does not respond to the login.
      return await withTimeout(CONNECT_LIMIT_MS, connecting);
    } catch (error) {
      client.destroy();
      // A client that is destroyed while it connects keeps its socket.
      void connecting.then(() => client.destroy()).catch(() => undefined);
      throw error;
    }
  }

  /** Shares a lookup under way: it cannot be cancelled, and holds one of the few threads of the process until its end. */
  private readonly lookUp: LookupFunction = (host, { all }, callback) => {
    this.addresses ??= lookup(host, { all: true, hints: ADDRCONFIG }).finally(
      () => (this.addresses = undefined),
    );
    const found = this.addresses;
    callbackify(() => found)((error, addresses) => {
      const [first = { address: '', family: 0 }] = addresses ?? [];
      if (error !== null || all) callback(error, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

/** In how many parts of at least 1 ms a timeout is measured. */
const PARTS = 10;

/** The library takes 0.2 s and 20 MiB, which a service without Redis need not spend. */
async function importTemplate() {
  const { createClient } = await import('@redis/client');
  // `createClient` stops the process for 0.04 s to build a class; `duplicate` uses the class again.
  return createClient(OPTIONS);
}

/**
 * Rejects if a response does not arrive in time. A time in which this process does not run counts little: the machine is
 * busy then, and Redis, too, may wait for it. A response that has arrived when the time is over still counts.
 */
export function withTimeout<T>(limitMs: number, response: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let left = Math.min(PARTS, limitMs);
    const partMs = Math.ceil(limitMs / left);
    const wait = (): void => {
      left -= 1;
      if (left < 0) reject(new Error(`no response within ${limitMs} ms`));
      else if (left === 0) setImmediate(wait);
    };
    const timer = setInterval(wait, partMs);
    response.then(resolve, reject).finally(() => clearInterval(timer));
  });
}
