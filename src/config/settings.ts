import { availableParallelism } from 'node:os';
import { baseUrl, boolean, cidrs, integer, isDecodable, oneOf, optional, origins } from './parsers';
import { type Parser, text } from './parsers';

/** One environment variable. `.env.example` and `docs/settings.md` are written from these facts. */
export interface Setting<T> {
  readonly variable: string;
  /** The value if the variable is unset or empty. */
  readonly defaultText: string;
  readonly parse: Parser<T>;
  /** Effect and unit of the value, in Markdown. */
  readonly meaning: string;
  /** True if the value may contain a password. It can then be the content of a file that `NAME_FILE` names. */
  readonly isSecret?: boolean;
}

/** @param line the variable and its default, as in `.env` */
function setting<T>(line: string, parse: Parser<T>, meaning: string): Setting<T> {
  const [variable = '', defaultText = ''] = line.split('=');
  return { variable, defaultText, parse, meaning };
}

function secret<T>(line: string, parse: Parser<T>, meaning: string): Setting<T> {
  return { ...setting(line, parse, meaning), isSecret: true };
}

/** In a URL: white space, a `#`, or an `@` behind the host. A password is not encoded, and its rest would be the host. */
const UNENCODED = /^\w+:\/\/(.*[\s#]|[^/?]*[/?].*@)/is;

/** Accepts the URL of one server with a user name and password. Messages do not repeat the value. */
function serverUrlOf(...schemes: readonly string[]): Parser<string> {
  const beginnings = schemes.map((each) => `${each}://`);
  return (value) => {
    if (UNENCODED.test(value) || !isDecodable(value)) {
      throw new Error(
        'has a reserved character in its user name or password: write % as %25, @ as %40, / as %2F, ? as %3F, # as %23, a space as %20',
      );
    }
    if (!beginnings.some((each) => value.toLowerCase().startsWith(each)))
      throw new Error(`must be a URL that begins with ${beginnings.join(' or ')}`);
    if (!URL.canParse(value))
      throw new Error(
        'must have a valid host and port: an IPv6 address is in brackets, a port a number up to 65535',
      );
    return value;
  };
}

/** The parameters of TLS that node-postgres applies. A misspelt one would leave the connection without it. */
const TLS =
  /^ssl(=|(cert|key|rootcert|sni|accept)=|negotiation=(postgres|direct)$|mode=(disable|allow|prefer|require|verify-ca|verify-full|no-verify)$)/;

/** The driver verifies the server with each of these, and has a warning of eight lines for all but the last. */
const VERIFIED = /^(allow|prefer|require|verify-ca|verify-full)$/;

/** Accepts the forms of libpq with one host, such as `user:password@/database?host=/folder` of Cloud SQL. */
const databaseUrl: Parser<string> = (value) => {
  const parse = serverUrlOf('postgres', 'postgresql');
  const { searchParams: used } = new URL(parse(value.replace('@/', '@localhost/')));
  for (const [name, given] of used)
    if (/^ssl/i.test(name) && !TLS.test(`${name}=${given}`))
      throw new Error(`has a parameter ${name} that is not supported: remove it or correct its value`);
  // Without a file the driver has the authorities of Node.js.
  const isSystem = used.get('sslrootcert') === 'system';
  if (isSystem) used.delete('sslrootcert');
  if (isSystem || (VERIFIED.test(used.get('sslmode') ?? '') && !used.has('uselibpqcompat')))
    used.set('sslmode', 'verify-full');
  return used.size === 0 ? value : `${value.replace(/\?.*/s, '')}?${String(used)}`;
};

/** Accepts a database number or none behind the host. The client reads parameters as options. */
const redisUrl: Parser<string> = (value) => {
  if (/^\w+:\/\/[^/?#]*(\/\d{0,9})?$/.test(serverUrlOf('redis', 'rediss')(value))) return value;
  throw new Error('may have a database number such as /1 as its path, and no query');
};

const port = integer(0, 65_535);
/** Each takes 100 MiB and connections of the database. */
const MAX_WORKERS = 64;
const workers: Parser<number> = (value) =>
  value === 'auto' ? Math.min(availableParallelism(), MAX_WORKERS) : integer(1, MAX_WORKERS)(value);
const milliseconds = integer(1, 600_000);

/** Every setting of the service. After a change run `npm run -s settings`. */
export const settings = {
  deployment: setting(
    'DEPLOYMENT=development',
    oneOf('production', 'staging', 'development'),
    'Kind of deployment: `production`, `staging` or `development`. Keys of production begin with `ask_live_`, others with `ask_test_`. Only in development the first start prints a key.',
  ),
  host: setting(
    'HOST=127.0.0.1',
    text,
    'Address to listen on. The default accepts connections from this machine only.',
  ),
  port: setting('PORT=3000', port, 'TCP port to listen on; `0` takes a free port and prints it.'),
  workers: setting(
    'WORKERS=1',
    workers,
    'Number of [processes that serve requests](deploy.md#all-cores), at most 64; `auto`: one for each processor core. More than 1 needs `REDIS_URL`.',
  ),
  publicBaseUrl: setting(
    'PUBLIC_BASE_URL=/v1',
    baseUrl,
    'Base address of the API for clients, in `Link`, `Location` and the OpenAPI document. Use an absolute URL in production, such as `https://api.example.com/v1`.',
  ),
  stagingBaseUrl: setting(
    'STAGING_BASE_URL=',
    optional(baseUrl),
    'Base address of the staging deployment, the second server in the OpenAPI document; empty: none.',
  ),
  databaseUrl: secret(
    'DATABASE_URL=',
    optional(databaseUrl),
    'URL of a PostgreSQL server, version 15 or newer; empty: the embedded PostgreSQL 18.',
  ),
  databasePoolSize: setting(
    'DATABASE_POOL_SIZE=10',
    integer(1, 1_000),
    'Maximum number of database connections of one process.',
  ),
  databasePreparedStatements: setting(
    'DATABASE_PREPARED_STATEMENTS=true',
    boolean,
    '`true` or `false`: whether statements are prepared. Set `false` for a transaction pooler without support for them (PgBouncer before 1.21).',
  ),
  databasePipelining: setting(
    'DATABASE_PIPELINING=true',
    boolean,
    '`true` or `false`: whether short reads share connections and creations that wait are joined into one statement. Without prepared statements it is always off.',
  ),
  databasePoolWaitMs: setting(
    'DATABASE_POOL_WAIT_MS=2000',
    milliseconds,
    'Longest wait for a free database connection, in milliseconds; then the response is 503.',
  ),
  dataDir: setting(
    'DATA_DIR=.data',
    text,
    'Folder of the embedded PostgreSQL; a relative path starts at the working directory.',
  ),
  redisUrl: secret(
    'REDIS_URL=',
    optional(redisUrl),
    'URL of the Redis through which several instances share rate limits, such as `redis://cache:6379/1`; `rediss://` uses TLS. Empty: each instance counts separately.',
  ),
  redisTimeoutMs: setting(
    'REDIS_TIMEOUT_MS=100',
    milliseconds,
    'Longest wait for Redis in one request, in milliseconds; then the instance enforces rate limits locally.',
  ),
  metricsPort: setting(
    'METRICS_PORT=',
    optional(port),
    'TCP port for Prometheus metrics at `/metrics`, and for `/livez` and `/readyz`, which clients of `PORT` cannot delay there; `0` takes a free port and logs it. Empty: no metrics.',
  ),
  metricsHost: setting(
    'METRICS_HOST=127.0.0.1',
    text,
    'Address of the metrics port. It requires no key: allow only your Prometheus and your probes to connect.',
  ),
  docsEnabled: setting(
    'DOCS_ENABLED=true',
    boolean,
    '`true` or `false`: whether Swagger UI (`/docs`) and the front page are served. With `false` both are 404; the OpenAPI documents and the guide are always served.',
  ),
  bodyLimitBytes: setting(
    'BODY_LIMIT_BYTES=65536',
    integer(1, 1_073_741_824),
    'Maximum size of a request body in bytes; a larger one is 413.',
  ),
  headersTimeoutMs: setting(
    'HEADERS_TIMEOUT_MS=5000',
    milliseconds,
    'Longest time for the headers of a request to arrive, in milliseconds; then 408.',
  ),
  requestTimeoutMs: setting(
    'REQUEST_TIMEOUT_MS=10000',
    milliseconds,
    'Longest time for a whole request to arrive, in milliseconds; then 408.',
  ),
  keepAliveTimeoutMs: setting(
    'KEEP_ALIVE_TIMEOUT_MS=65000',
    milliseconds,
    'Time after which an idle connection is closed, in milliseconds.',
  ),
  maxConnections: setting(
    'MAX_CONNECTIONS=10000',
    integer(1, 1_000_000),
    'Maximum number of open client connections of one process. At the maximum a new connection is closed, and so are the idle ones.',
  ),
  trustProxy: setting(
    'TRUST_PROXY=',
    cidrs,
    'Comma-separated IP addresses and CIDR blocks of proxies that may set `X-Forwarded-For`; empty: none.',
  ),
  corsOrigins: setting(
    'CORS_ORIGINS=',
    origins,
    'Comma-separated origins, such as `https://app.example.com`, that may use the API from a browser; empty: CORS is off.',
  ),
  rateLimitAnonymousPerMinute: setting(
    'RATE_LIMIT_ANONYMOUS_PER_MINUTE=1000',
    integer(1, 1_000_000_000),
    'Requests per minute without a valid key, by client IP (IPv6: by /64). Above this limit the response is 429 instead of 401.',
  ),
  rateLimitBanAfter: setting(
    'RATE_LIMIT_BAN_AFTER=100',
    integer(0, 300),
    'Number of strikes (429 responses, at most one per second) within five minutes that bans a key, at most 300; `0`: no bans. With 6 or less a client that waits may be banned.',
  ),
  rateLimitBanSeconds: setting(
    'RATE_LIMIT_BAN_SECONDS=300',
    integer(0, 86_400),
    'Length of a ban in seconds; `0`: no bans.',
  ),
  logLevel: setting(
    'LOG_LEVEL=info',
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'Minimum log level: `fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`.',
  ),
} as const;

/** Settings of earlier versions by their variable, and what replaces each. */
export const GONE_SETTINGS: Readonly<Record<string, string>> = {
  CONTACT_URL: 'remove it',
  EMBEDDED_PG_BIN: 'remove it, or set DATABASE_URL to another PostgreSQL',
  WEBHOOKS_KEY: 'remove it, encrypt the disk instead, and replace encrypted secrets with rotateWebhook',
  WEBHOOKS_KEY_FILE: 'remove it as WEBHOOKS_KEY',
};
