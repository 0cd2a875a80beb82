import { HostLookup } from '../platform/runtime/host-lookup';

/** Longest attempt to connect. Sharing resumes within a second of the return of Redis, even if packets are lost. */
const CONNECT_LIMIT_MS = 750;
/** When the library closes the socket of an attempt that has been given up. */
const SOCKET_LIMIT_MS = 10 * CONNECT_LIMIT_MS;
const PING_INTERVAL_MS = 500;
const SENTINEL_PORT = '26379';

interface ScriptInput {
  readonly keys: string[];
  readonly arguments: string[];
}

/** A connection to one server, or to the nodes of a cluster. */
export interface RedisClient {
  evalSha(sha: string, input: ScriptInput): Promise<unknown>;
  eval(script: string, input: ScriptInput): Promise<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  destroy(): void;
}

/** RESP 2 is the protocol that Redis 5 supports, too. The caller limits the time of a command. */
const COMMANDS = { RESP: 2, commandOptions: { timeout: 0 } } as const;
/** A command without a connection fails: a request cannot wait for Redis, and a repeated one would count twice. */
const CONNECTION = {
  disableOfflineQueue: true,
  // Neither a `timeout` of Redis nor a network ends a connection that is never idle.
  pingInterval: PING_INTERVAL_MS,
  disableClientInfo: true,
  maintNotifications: 'disabled',
} as const;

/**
 * Connects to the server of a URL.
 *
 * Several URLs are the nodes of a cluster, or the sentinels of the master NAME if the first URL has `?sentinel=NAME`.
 */
export class RedisConnector {
  private readonly library = importLibrary();
  private readonly lookup = new HostLookup(true).lookUp;

  constructor(private readonly urls: readonly string[]) {}

  async connect(): Promise<RedisClient> {
    const [first = ''] = this.urls;
    const master = new URL(first).searchParams.get('sentinel');
    if (master !== null) return this.connectServer(await this.findMaster(master, new URL(first)));
    return this.urls.length > 1 ? this.connectCluster(new URL(first)) : this.connectServer(first);
  }

  private async connectServer(url: string) {
    const { template } = await this.library;
    // The caller connects again, perhaps to another server, such as a new master.
    const socket = {
      connectTimeout: SOCKET_LIMIT_MS,
      reconnectStrategy: false,
      lookup: this.lookup,
    } as const;
    const client = template.duplicate({ url, socket });
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

  /** Asks the sentinels one after the other. The library's own sentinel client blocks the process for 25 ms each time. */
  private async findMaster(name: string, master: URL): Promise<string> {
    let failure: unknown;
    for (const each of this.urls) {
      const { protocol, hostname, port } = new URL(each);
      try {
        const url = `${protocol}//${hostname}:${port || SENTINEL_PORT}`;
        const sentinel = await this.connectServer(url);
        const asked = sentinel.sendCommand<unknown>(['SENTINEL', 'get-master-addr-by-name', name]);
        const address = await withTimeout(CONNECT_LIMIT_MS, asked).finally(() => sentinel.destroy());
        if (!Array.isArray(address)) throw new Error(`the sentinel ${hostname} has no master named ${name}`);
        const [host, masterPort] = address.map(String);
        master.host = `${host?.includes(':') ? `[${host}]` : host}:${masterPort}`;
        return master.href;
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  /** Finds the nodes. The first command for a node connects to it, and the library reconnects. */
  private async connectCluster({ protocol, username, password }: URL): Promise<RedisClient> {
    const { createCluster } = await this.library;
    const socket = {
      connectTimeout: CONNECT_LIMIT_MS,
      tls: protocol === 'rediss:',
      lookup: this.lookup,
    } as const;
    const login = { username: decodeURIComponent(username), password: decodeURIComponent(password) };
    const cluster = createCluster({
      ...COMMANDS,
      minimizeConnections: true,
      // A frozen node accepts the connection, but does not list the others.
      rootNodes: this.urls.map((url) => ({
        url,
        socket: { socketTimeout: CONNECT_LIMIT_MS, lookup: this.lookup },
      })),
      // The nodes list their addresses, but not their login.
      defaults: { ...CONNECTION, ...login, socket },
    });
    let reason: Error | undefined;
    cluster.on('error', (error: Error) => (reason = error));
    await cluster.connect().catch((error: unknown) => Promise.reject(reason ?? error));
    return cluster;
  }
}

/** In how many parts of at least 1 ms a timeout is measured. */
const PARTS = 10;

/** The library takes 0.2 s and 20 MiB, which a service without Redis need not spend. */
async function importLibrary() {
  const { createClient, createCluster } = await import('@redis/client');
  // `createClient` stops the process for 0.04 s to build a class; `duplicate` uses the class again.
  return { createCluster, template: createClient({ ...COMMANDS, ...CONNECTION }) };
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
