import {
  baseUrl,
  boolean,
  cidrs,
  integer,
  oneOf,
  optional,
  origins,
  type Parser,
  redisUrls,
  text,
  urlOf,
} from './parsers';

/** One environment variable: its name, its value where it is unset or empty, and how its text is read. */
export interface Setting<T> {
  readonly variable: string;
  readonly byDefault: string;
  readonly parse: Parser<T>;
}

function setting<T>(variable: string, byDefault: string, parse: Parser<T>): Setting<T> {
  return { variable, byDefault, parse };
}

const LONGEST_TIMEOUT_MS = 600_000;
const MOST_CONNECTIONS = 1_000_000;
const MOST_REQUESTS = 1_000_000_000;
/** Five minutes hold no more strikes, at one a second. */
const MOST_STRIKES = 300;
const milliseconds = integer(1, LONGEST_TIMEOUT_MS);

/** Every setting of the service. `.env.example` and the README list the same, with their meaning. */
export const settings = {
  deployment: setting('DEPLOYMENT', 'development', oneOf('production', 'staging', 'development')),
  host: setting('HOST', '127.0.0.1', text),
  port: setting('PORT', '3000', integer(0, 65_535)),
  publicBaseUrl: setting('PUBLIC_BASE_URL', '/v1', baseUrl),
  stagingBaseUrl: setting('STAGING_BASE_URL', '', optional(baseUrl)),
  contactUrl: setting('CONTACT_URL', '', optional(urlOf('https', 'http'))),
  databaseUrl: setting('DATABASE_URL', '', optional(urlOf('postgres', 'postgresql'))),
  databasePoolSize: setting('DATABASE_POOL_SIZE', '10', integer(1, 1_000)),
  databasePreparedStatements: setting('DATABASE_PREPARED_STATEMENTS', 'true', boolean),
  databasePoolWaitMs: setting('DATABASE_POOL_WAIT_MS', '2000', milliseconds),
  dataDir: setting('DATA_DIR', '.data', text),
  embeddedPgBin: setting('EMBEDDED_PG_BIN', '', optional(text)),
  redisUrl: setting('REDIS_URL', '', optional(redisUrls)),
  redisTimeoutMs: setting('REDIS_TIMEOUT_MS', '100', milliseconds),
  metricsPort: setting('METRICS_PORT', '', optional(integer(0, 65_535))),
  metricsHost: setting('METRICS_HOST', '127.0.0.1', text),
  docsEnabled: setting('DOCS_ENABLED', 'true', boolean),
  bodyLimitBytes: setting('BODY_LIMIT_BYTES', '65536', integer(1, 1_073_741_824)),
  headersTimeoutMs: setting('HEADERS_TIMEOUT_MS', '5000', milliseconds),
  requestTimeoutMs: setting('REQUEST_TIMEOUT_MS', '10000', milliseconds),
  keepAliveTimeoutMs: setting('KEEP_ALIVE_TIMEOUT_MS', '65000', milliseconds),
  maxConnections: setting('MAX_CONNECTIONS', '10000', integer(1, MOST_CONNECTIONS)),
  trustProxy: setting('TRUST_PROXY', '', cidrs),
  corsOrigins: setting('CORS_ORIGINS', '', origins),
  rateLimitAnonymousPerMinute: setting('RATE_LIMIT_ANONYMOUS_PER_MINUTE', '1000', integer(1, MOST_REQUESTS)),
  rateLimitBanAfter: setting('RATE_LIMIT_BAN_AFTER', '100', integer(0, MOST_STRIKES)),
  rateLimitBanSeconds: setting('RATE_LIMIT_BAN_SECONDS', '300', integer(0, 86_400)),
  logLevel: setting('LOG_LEVEL', 'info', oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent')),
} as const;
