/**
 * Two baselines: the operations of the loads, written by hand on Fastify and pg.
 *
 * - They do the same work: key check with a cache, both windows, every header, the same JSON, one log line per request.
 * - They have no Nest, no TypeORM and no validation library, and only one process can use their counters.
 *
 * They show the speed of code that has no other aim. With the argument `pipelined` the queries share connections.
 */
import { randomUUID } from 'node:crypto';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { types } from 'pg';
import { destination } from 'pino';
import { hashOf, isWellFormed } from '../src/auth/keys/secret';
import { COLUMNS, openPipelined, openPool } from './handwritten-database';
import { addOrders, type Authenticated, idIn, Rejection } from './handwritten-orders';

interface Account {
  readonly id: bigint;
  readonly perMinute: number;
  readonly perDay: number;
}

interface Windows {
  minuteUsed: number;
  minuteEnds: number;
  dayUsed: number;
  dayEnds: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const KEY_AGE_MS = 4_000;
const INT8_OID = 20;
const ANONYMOUS = { perMinute: 1_000_000_000, perDay: 1_000_000_000 };
const STATUSES = new Set(['available', 'pending', 'sold']);

types.setTypeParser(INT8_OID, BigInt);
const open = process.argv.includes('pipelined') ? openPipelined : openPool;
const database = open(process.env['DATABASE_URL']);
const app = fastify({
  logger: { level: 'info', stream: destination({ dest: 1, sync: false }) },
  disableRequestLogging: true,
  genReqId: () => randomUUID(),
});

const INTEGER = { type: 'integer' };
const TEXT = { type: 'string' };
const petSchema = {
  type: 'object',
  properties: { id: INTEGER, name: TEXT, categoryId: INTEGER, status: TEXT },
};

const keys = new Map<string, { readonly account: Account | undefined; readonly askedAt: number }>();
const windows = new Map<string, Windows>();

async function accountOf(request: FastifyRequest): Promise<Account | undefined> {
  const secret = /^bearer (.*)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  if (!isWellFormed(secret)) return undefined;
  const hash = hashOf(secret);
  const now = Date.now();
  const known = keys.get(hash);
  if (known && now - known.askedAt <= KEY_AGE_MS) return known.account;
  const { rows } = await database.read<Account>({
    name: 'key',
    text: `SELECT a.id, a.per_minute AS "perMinute", a.per_day AS "perDay" FROM api_keys k
           JOIN accounts a ON a.id = k.account_id
           WHERE k.secret_hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
    values: [Buffer.from(hash, 'hex')],
  });
  keys.set(hash, { account: rows[0], askedAt: now });
  return rows[0];
}

/** Counts the request if both windows allow it, and sets the headers. Returns true if it is admitted. */
function take(owner: string, limits: Omit<Account, 'id'>, reply: FastifyReply): boolean {
  const now = Date.now();
  let known = windows.get(owner);
  if (!known) windows.set(owner, (known = { minuteUsed: 0, minuteEnds: 0, dayUsed: 0, dayEnds: 0 }));
  if (known.minuteEnds <= now) {
    known.minuteUsed = 0;
    known.minuteEnds = now + MINUTE_MS;
  }
  if (known.dayEnds <= now) {
    known.dayUsed = 0;
    known.dayEnds = (Math.floor(now / DAY_MS) + 1) * DAY_MS;
  }
  const isAdmitted = known.minuteUsed < limits.perMinute && known.dayUsed < limits.perDay;
  if (isAdmitted) {
    known.minuteUsed += 1;
    known.dayUsed += 1;
  }
  const minuteLeft = Math.max(0, limits.perMinute - known.minuteUsed);
  const dayLeft = Math.max(0, limits.perDay - known.dayUsed);
  const isMinute = minuteLeft < dayLeft;
  const resetAt = isMinute ? known.minuteEnds : known.dayEnds;
  const raw = reply.headers({
    'X-RateLimit-Limit': isMinute ? limits.perMinute : limits.perDay,
    'X-RateLimit-Remaining': isMinute ? minuteLeft : dayLeft,
    'X-RateLimit-Reset': Math.ceil(resetAt / 1_000),
    'RateLimit-Policy': `"minute";q=${limits.perMinute};w=60, "day";q=${limits.perDay};w=86400`,
    RateLimit: `"minute";r=${minuteLeft};t=${Math.ceil((known.minuteEnds - now) / 1_000)}, "day";r=${dayLeft};t=${Math.ceil((known.dayEnds - now) / 1_000)}`,
  });
  if (!isAdmitted)
    raw.header('Retry-After', Math.max(1, Math.ceil(resetAt / 1_000) - Math.floor(now / 1_000)));
  return isAdmitted;
}

function sendError(reply: FastifyReply, status: number, code: string, message: string): FastifyReply {
  return reply
    .code(status)
    .type('application/json; charset=utf-8')
    .serializer(String)
    .send(JSON.stringify({ code, message, status }));
}

app.addHook('onRequest', async (request, reply) => {
  reply.headers({
    'X-Request-Id': request.id,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  });
  const account = await accountOf(request);
  const isAdmitted = account
    ? take(`account:${account.id}`, account, reply)
    : take(`ip:${request.ip}`, ANONYMOUS, reply);
  if (!isAdmitted)
    return sendError(reply, 429, 'rate_limit_exceeded', 'The requests of this minute are used up.');
  if (account) {
    (request as Authenticated).accountId = account.id;
    return undefined;
  }
  reply.header('WWW-Authenticate', 'Bearer realm="animal-store"');
  return sendError(reply, 401, 'invalid_api_key', 'The API key is not valid.');
});

app.decorateRequest('accountId', 0n);
app.setErrorHandler((error, _request, reply) =>
  error instanceof Rejection
    ? sendError(reply, error.status, error.code, error.message)
    : sendError(reply, 500, 'internal_error', 'Something went wrong.'),
);

app.addHook('onResponse', (request, reply, done) => {
  const { method, url, ip } = request;
  request.log.info(
    { method, path: url, status: reply.statusCode, durationMs: reply.elapsedTime, ip },
    'request',
  );
  done();
});

app.get<{ Querystring: { limit?: string; status?: string; cursor?: string } }>(
  '/v1/pets',
  { schema: { response: { 200: { type: 'array', items: petSchema } } } },
  async (request, reply) => {
    const { limit = '20', status, cursor } = request.query;
    const count = Number(limit);
    const isKnown = status === undefined || STATUSES.has(status);
    if (!/^[1-9]\d{0,2}$/.test(limit) || count > 100 || !isKnown) {
      return sendError(reply, 400, 'validation_failed', 'limit or status is not valid.');
    }
    const after = cursor === undefined ? -1n : idIn(cursor);
    const { rows } = await database.read<{ id: bigint }>(
      status === undefined
        ? {
            name: 'list',
            text: `SELECT ${COLUMNS} FROM pets WHERE id > $1 ORDER BY id LIMIT $2`,
            values: [after, count + 1],
          }
        : {
            name: 'list_by_status',
            text: `SELECT ${COLUMNS} FROM pets WHERE (status, id) > ($3, $1) AND status <= $3 ORDER BY status, id LIMIT $2`,
            values: [after, count + 1, status],
          },
    );
    if (rows.length > count) {
      rows.pop();
      const next = Buffer.from(String(rows.at(-1)?.id)).toString('base64url');
      const filter = status === undefined ? '' : `&status=${status}`;
      reply.header('Link', `</v1/pets?limit=${limit}${filter}&cursor=${next}>; rel="next"`);
    }
    return rows;
  },
);

app.get<{ Params: { id: string } }>(
  '/v1/pets/:id',
  { schema: { response: { 200: petSchema } } },
  async (request, reply) => {
    reply.headers({
      Deprecation: '@1795219200',
      Sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
      Link: '</v1/pets?status=available>; rel="successor-version"',
    });
    const text = `SELECT ${COLUMNS} FROM pets WHERE id = $1`;
    const { rows } = await database.read({ name: 'find', text, values: [request.params.id] });
    return rows[0] ?? sendError(reply, 404, 'pet_not_found', 'There is no animal with this id.');
  },
);

app.post<{ Body: { name?: unknown; categoryId?: unknown; status?: unknown } | null }>(
  '/v1/pets',
  { schema: { response: { 201: petSchema } } },
  async (request, reply) => {
    const { name, categoryId, status = 'available' } = request.body ?? {};
    const isName =
      typeof name === 'string' && name.trim() !== '' && name.length <= 255 && !/\p{Cc}/u.test(name);
    if (!isName || !Number.isSafeInteger(categoryId) || !STATUSES.has(String(status))) {
      return sendError(reply, 400, 'validation_failed', 'name, categoryId or status is not valid.');
    }
    const { rows } = await database.insert({ name, categoryId: Number(categoryId), status: String(status) });
    return reply.code(201).header('Location', `/v1/pets/${rows[0]?.id}`).send(rows[0]);
  },
);

addOrders(app, database);

void app.listen({ host: '127.0.0.1', port: Number(process.env['PORT']) });

// exit() lets Node.js write a CPU profile.
process.once('SIGTERM', () => process.exit());
