import { type Access, accessOf, type Address, addressOf, REDIS_PORT, SENTINEL_PORT } from './redis.address';
import type { RedisClient } from './redis.client';
import { type HostLookup, oneAtATime, socketLookup, systemLookup } from './redis.lookup';
import { withTimeout } from './redis.timeout';

/** Sharing resumes within a second of the return of Redis, even if the network loses the packets of an attempt. */
const CONNECT_LIMIT_MS = 750;
/** The errors of Redis 6 and later, and of Redis 5. */
const NEEDS_NO_PASSWORD = /without any password configured|no password is set/;

/** RESP 2 is the protocol that Redis 5 supports, too. The caller limits the time of a command. */
const COMMANDS = { RESP: 2, commandOptions: { timeout: 0 } } as const;
/** A command without a connection fails: a request cannot wait for Redis. */
const CONNECTION = {
  disableOfflineQueue: true,
  disableClientInfo: true,
  maintNotifications: 'disabled',
} as const;

/**
 * Opens connections that never reconnect and never send a command twice: a repeated charge would count twice.
 *
 * Several URLs are the nodes of a cluster, or the sentinels of the master NAME if the first URL has `?sentinel=NAME`.
 */
export class RedisConnector {
  private readonly urls: readonly URL[];
  private readonly first: URL;
  private readonly socket;
  private library: ReturnType<typeof importLibrary> | undefined;

  constructor(
    urls: readonly string[],
    lookup: HostLookup = systemLookup,
    private readonly limitMs = CONNECT_LIMIT_MS,
  ) {
    this.urls = urls.map((url) => new URL(url));
    [this.first = new URL('redis://localhost')] = this.urls;
    const common = {
      lookup: socketLookup(oneAtATime(lookup)),
      autoSelectFamily: true,
      connectTimeout: limitMs,
      reconnectStrategy: false as const,
    };
    this.socket = this.first.protocol === 'rediss:' ? { ...common, tls: true as const } : common;
  }

  /** Loads the library once. It takes 0.2 s and 20 MiB, which a service without Redis need not spend. */
  load(): ReturnType<typeof importLibrary> {
    this.library ??= importLibrary();
    return this.library;
  }

  /**
   * @param signal closes the connection and rejects its pending commands
   * @param onError receives the errors of the open connection
   */
  async connect(signal: AbortSignal, onError: (error: Error) => void): Promise<RedisClient> {
    const client = await this.open(accessOf(this.first), signal).catch((error: Error) => {
      // If the default user has no password, Redis rejects one.
      if (!NEEDS_NO_PASSWORD.test(error.message)) throw error;
      return this.open({}, signal);
    });
    client.on('error', onError);
    client.on('node-error', onError);
    return client;
  }

  private async open(access: Access, signal: AbortSignal): Promise<RedisClient> {
    const master = this.first.searchParams.get('sentinel');
    if (master === null && this.urls.length > 1) return this.openCluster(access, signal);
    const address =
      master === null ? addressOf(this.first, REDIS_PORT) : await this.findMaster(master, signal);
    return this.openServer(address, { ...access, database: Number(this.first.pathname.slice(1)) }, signal);
  }

  private async openServer(address: Address, options: Access & { database?: number }, signal: AbortSignal) {
    const { template } = await this.load();
    signal.throwIfAborted();
    const client = template.duplicate({ ...options, socket: { ...this.socket, ...address } });
    // An error before the connection is open rejects the promise, too.
    client.on('error', () => undefined);
    const destroy = (): void => client.destroy();
    signal.addEventListener('abort', destroy, { once: true });
    const connecting = client.connect();
    // A client that is destroyed while it connects keeps its socket: destroy it once more.
    void connecting.then(() => signal.aborted && destroy()).catch(() => undefined);
    // A frozen Redis accepts the connection, but does not respond to the login.
    await withTimeout(this.limitMs, connecting);
    return client;
  }

  /** Asks the sentinels one after the other. */
  private async findMaster(name: string, signal: AbortSignal): Promise<Address> {
    let failure: unknown;
    for (const url of this.urls) {
      const done = new AbortController();
      try {
        const either = AbortSignal.any([signal, done.signal]);
        const sentinel = await this.openServer(addressOf(url, SENTINEL_PORT), {}, either);
        const asked = sentinel.sendCommand(['SENTINEL', 'get-master-addr-by-name', name]);
        const address = await withTimeout(this.limitMs, asked);
        if (Array.isArray(address)) return { host: String(address[0]), port: Number(address[1]) };
        failure = new Error(`the sentinel at ${url.host} has no master named ${name}`);
      } catch (error) {
        failure = error;
      } finally {
        done.abort();
      }
    }
    throw failure;
  }

  /** Finds the nodes. The first command for a node connects to it. */
  private async openCluster(access: Access, signal: AbortSignal) {
    const { createCluster } = await this.load();
    signal.throwIfAborted();
    const { socket, limitMs } = this;
    const cluster = createCluster({
      ...COMMANDS,
      minimizeConnections: true,
      // A frozen node accepts the connection, but does not list the others.
      rootNodes: this.urls.map((url) => ({
        socket: { ...socket, ...addressOf(url, REDIS_PORT), socketTimeout: limitMs },
      })),
      // The nodes list their addresses, but not their login.
      defaults: { ...CONNECTION, ...access, socket },
    });
    let reason: Error | undefined;
    cluster.on('error', (error: Error) => (reason = error));
    const destroy = (): void => {
      const nodes = [...cluster.masters];
      cluster.destroy();
      // A client that is destroyed while it connects keeps its socket: destroy it once more.
      setTimeout(() => nodes.forEach(({ client }) => client?.destroy()), limitMs).unref();
    };
    signal.addEventListener('abort', destroy, { once: true });
    await cluster.connect().catch((error: unknown) => {
      throw reason ?? error;
    });
    return cluster;
  }
}

async function importLibrary() {
  const { createClient, createCluster } = await import('@redis/client');
  // `createClient` stops the process for 0.1 s to build a class; `duplicate` uses the class again.
  return { createCluster, template: createClient({ ...COMMANDS, ...CONNECTION }) };
}
