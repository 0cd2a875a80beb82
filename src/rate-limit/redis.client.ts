import { callbackify } from 'node:util';
import { Cluster, type DNSLookupFunction, Redis, type RedisOptions } from 'ioredis';
import { connectorsWith } from './redis.connectors';
import { type Lookup, oneAtATime, systemLookup } from './redis.lookup';

export type RedisClient = Redis | Cluster;

/** How a client tries to connect. */
export interface ConnectionPace {
  /** The pause after an attempt that failed. */
  readonly retryDelayMs: number;
  /** The longest that one attempt takes. */
  readonly connectLimitMs: number;
}

/** Sharing resumes within a second of the return of Redis, even if the network loses the packets of an attempt. */
const PACE: ConnectionPace = { retryDelayMs: 200, connectLimitMs: 750 };
const SENTINEL_PORT = 26_379;
/** A frozen Redis does not close a connection that we end. */
const DISCONNECT_LIMIT_MS = 50;

/**
 * Commands fail at once while there is no connection, and are never sent a second time: a request cannot wait for
 * Redis, and a charge that is repeated counts twice. Whether Redis is ready is asked by a charge, not by the library.
 */
const OPTIONS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  enableReadyCheck: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  disableClientInfo: true,
  disconnectTimeout: DISCONNECT_LIMIT_MS,
} satisfies RedisOptions;

/**
 * A client that connects only when it is told to.
 *
 * @param urls one server; several are nodes of a cluster, or, where the first one says `?sentinel=NAME`, the sentinels
 * that know the master of that name
 * @param ask looks up a host
 */
export function createRedisClient(
  urls: readonly string[],
  ask = systemLookup,
  { retryDelayMs, connectLimitMs } = PACE,
): RedisClient {
  const lookup = oneAtATime(ask);
  const { server, sentinels } = connectorsWith(lookup);
  const retry = () => retryDelayMs;
  const paced = { ...OPTIONS, connectTimeout: connectLimitMs, retryStrategy: retry };
  const options = { ...paced, Connector: server };
  const [url = ''] = urls;
  const first = new URL(url);
  const master = first.searchParams.get('sentinel');
  if (master !== null) {
    const db = Number(first.pathname.slice(1));
    const known = { ...accessOf(first), db, ...sentinelOptions(urls, master) };
    return new Redis({ ...paced, ...known, sentinelRetryStrategy: retry, Connector: sentinels });
  }
  if (urls.length === 1) return new Redis(url, options);
  // The nodes tell each other's addresses, but not how to log in.
  return new Cluster([...urls], {
    lazyConnect: true,
    enableOfflineQueue: false,
    enableReadyCheck: false,
    slotsRefreshTimeout: connectLimitMs,
    clusterRetryStrategy: retry,
    redisOptions: { ...options, ...accessOf(first) },
    dnsLookup: clusterLookup(lookup),
  });
}

function clusterLookup(lookup: Lookup): DNSLookupFunction {
  const ask = callbackify(async (host: string) => (await lookup(host))[0]?.address ?? host);
  return (host, callback) => ask(host, callback);
}

function sentinelOptions(urls: readonly string[], name: string): RedisOptions {
  const sentinels = urls.map((each) => {
    const { hostname, port } = new URL(each);
    return { host: hostname, port: Number(port || SENTINEL_PORT) };
  });
  return { sentinels, name };
}

function accessOf({ protocol, username, password }: URL): RedisOptions {
  return {
    ...(protocol === 'rediss:' ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  };
}
