import { createConnection, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { callbackify } from 'node:util';
import {
  AbstractConnector,
  Redis,
  type RedisOptions,
  type SentinelAddress,
  type SentinelConnectionOptions,
  SentinelConnector,
  type StandaloneConnectionOptions,
} from 'ioredis';
import type { Lookup } from './redis.lookup';

type Connector = NonNullable<RedisOptions['Connector']>;

/** What the client connects by, here only because it does not let its user say how a host is looked up. */
export function connectorsWith(lookup: Lookup): {
  readonly server: Connector;
  readonly sentinels: Connector;
} {
  const byName = { lookup: nodeLookup(lookup), autoSelectFamily: true };

  class ServerConnector extends AbstractConnector {
    private readonly options: StandaloneConnectionOptions;

    constructor(given: unknown) {
      const options: StandaloneConnectionOptions = Object.assign({}, given);
      super(options.disconnectTimeout ?? 0);
      this.options = options;
    }

    override connect(): Promise<Socket> {
      const { host, port = 0, tls } = this.options;
      this.connecting = true;
      this.stream = tls
        ? connectTls({ host, port, ...byName, ...tls })
        : createConnection({ host, port, ...byName });
      this.stream.once('error', (error) => (this.firstError = error));
      return Promise.resolve(this.stream);
    }
  }

  class NamedSentinels extends SentinelConnector {
    constructor(given: unknown) {
      const options: SentinelConnectionOptions = Object.assign({}, given);
      super(options);
      const { sentinelTLS: tls, connectTimeout, disconnectTimeout } = options;
      // Methods that the client keeps to itself: how a sentinel is connected to, and the master that it names.
      Object.assign(this, {
        connectToSentinel: ({ host, port }: SentinelAddress): Redis =>
          new Redis({
            host,
            port,
            tls,
            connectTimeout,
            disconnectTimeout,
            enableReadyCheck: false,
            disableClientInfo: true,
            retryStrategy: () => null,
            Connector: ServerConnector,
          }),
        sentinelNatResolve: (master: SentinelAddress | null) => master && { ...master, ...byName },
      });
    }
  }

  return { server: ServerConnector, sentinels: NamedSentinels };
}

function nodeLookup(lookup: Lookup): LookupFunction {
  const ask = callbackify(lookup);
  return (host, _options, callback) => ask(host, callback);
}
