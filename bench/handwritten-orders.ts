/** Orders and the event feed of the hand-written baselines. As for the service, triggers write the events. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ClientBase } from 'pg';
import type { Database } from './handwritten-database';

const EXPIRY_MS = 168 * 3_600_000;
/** As in the service: only an account with more open orders than the first number waits for its other orders. */
const MAX_OPEN = [900, 1_000];

const INTEGER = { type: 'integer' };
const TEXT = { type: 'string' };
const TIME = { type: 'string', format: 'date-time', nullable: true };
const ORDER = {
  type: 'object',
  properties: { id: INTEGER, petId: INTEGER, status: TEXT, placedAt: TIME, updatedAt: TIME, expiresAt: TIME },
};
const COLUMNS =
  'id, pet_id AS "petId", status, placed_at AS "placedAt", updated_at AS "updatedAt", expires_at AS "expiresAt"';
const IS_OPEN = `status IN ('placed', 'approved')`;

const INSERT = `
  INSERT INTO store_orders (account_id, pet_id, status, placed_at, updated_at, expires_at)
  SELECT $1, $2, 'placed', $3::timestamptz, $3, $4::timestamptz WHERE $5 > (
    SELECT count(*) FROM (SELECT FROM store_orders WHERE account_id = $1 AND ${IS_OPEN} LIMIT $5) AS open
  )
  ON CONFLICT (pet_id) WHERE ${IS_OPEN} DO NOTHING RETURNING ${COLUMNS}`;

/** Events of running transactions are hidden (decision 35). Parameters: the id before them, their number, the account. */
const EVENTS = `
  SELECT is_known AS "isKnown", page.* FROM (
    SELECT $1 = removed_to OR EXISTS (SELECT FROM events WHERE id = $1 AND id > removed_to) AS is_known FROM event_log
  ) AS log LEFT JOIN (
    SELECT id, type, created_at AS "createdAt", data FROM events
    WHERE id > $1 AND id < (SELECT event_id_of(pg_snapshot_xmin(pg_current_snapshot())))
      AND (account_id IS NULL OR account_id = $3)
    ORDER BY id LIMIT $2
  ) AS page ON true`;

/** An error response: its status and code. */
export class Rejection extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
  ) {
    super(`The request is not possible: ${code}.`);
  }
}

/** A request whose key is valid. */
export type Authenticated = FastifyRequest & { accountId: bigint };

type Order = Readonly<Record<'id' | 'petId', bigint>> & { readonly status: string };
/** Without an event `id` is null. */
type EventRow = { id: bigint | null; type: string; createdAt: Date; data: string; isKnown: boolean };

const accountOf = (request: unknown): bigint => (request as Authenticated).accountId;

/** Reads a cursor. That of the service has the name of the list after the id. */
export const idIn = (cursor: string): bigint =>
  BigInt(Buffer.from(cursor, 'base64url').toString().split('@')[0] ?? '');

export function addOrders(app: FastifyInstance, database: Database): void {
  const schema = { response: { '2xx': ORDER } };

  app.post<{ Body: { petId?: unknown } | null }>('/v1/store/orders', { schema }, async (request, reply) => {
    const petId = request.body?.petId;
    if (!Number.isSafeInteger(petId)) throw new Rejection(400, 'validation_failed');
    const order = await database.transaction((client) => place(client, accountOf(request), Number(petId)));
    return reply.code(201).header('Location', `/v1/store/orders/${order.id}`).send(order);
  });

  app.patch<{ Params: { id: string }; Body: { status?: unknown } | null }>(
    '/v1/store/orders/:id',
    { schema },
    (request) => {
      if (request.body?.status !== 'cancelled') throw new Rejection(400, 'validation_failed');
      return database.transaction((client) => cancel(client, accountOf(request), request.params.id));
    },
  );

  app.get<{ Querystring: { limit?: string; cursor?: string } }>('/v1/events', async (request, reply) => {
    const { limit = '20', cursor } = request.query;
    if (!/^([1-9]\d?|100)$/.test(limit)) throw new Rejection(400, 'validation_failed');
    const after = cursor === undefined ? 0n : idIn(cursor);
    const values = [after, limit, accountOf(request)];
    const { rows } = await database.read<EventRow>({ name: 'events', text: EVENTS, values });
    if (cursor !== undefined && rows[0]?.isKnown !== true) throw new Rejection(410, 'cursor_expired');
    const events = rows.filter(({ id }) => id !== null);
    const next = Buffer.from(String(events.at(-1)?.id ?? after)).toString('base64url');
    reply.header('Link', `</v1/events?limit=${limit}&cursor=${next}>; rel="next"`);
    reply.type('application/json; charset=utf-8').serializer(String);
    return `[${events.map(print).join()}]`;
  });
}

const print = ({ id, type, createdAt, data }: EventRow): string =>
  `{"id":${id},"type":"${type}","createdAt":"${createdAt.toISOString()}","data":${data}}`;

async function place(client: ClientBase, accountId: bigint, petId: number): Promise<Order> {
  await changeStatus(client, petId, 'available', 'pending');
  const now = Date.now();
  const values = [accountId, petId, new Date(now), new Date(now + EXPIRY_MS)];
  for (const [at, maxOpen] of MAX_OPEN.entries()) {
    if (at > 0) await client.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
    const query = { name: 'place', text: INSERT, values: [...values, maxOpen] };
    const [order] = (await client.query<Order>(query)).rows;
    if (order) return order;
  }
  throw new Rejection(409, 'too_many_open_orders');
}

async function cancel(client: ClientBase, accountId: bigint, id: string): Promise<Order> {
  const text = `SELECT ${COLUMNS} FROM store_orders WHERE id = $1 AND account_id = $2 FOR UPDATE`;
  const [order] = (await client.query<Order>({ name: 'lock', text, values: [id, accountId] })).rows;
  if (!order) throw new Rejection(404, 'order_not_found');
  if (order.status === 'cancelled') return order;
  if (order.status === 'delivered') throw new Rejection(409, 'invalid_transition');
  const change = { status: 'cancelled', updatedAt: new Date(), expiresAt: null };
  const update = `UPDATE store_orders SET status = 'cancelled', updated_at = $2, expires_at = NULL WHERE id = $1`;
  await client.query({ name: 'cancel', text: update, values: [id, change.updatedAt] });
  await changeStatus(client, order.petId, 'pending', 'available');
  return { ...order, ...change };
}

async function changeStatus(client: ClientBase, id: number | bigint, from: string, to: string) {
  const text = 'UPDATE pets SET status = $3 WHERE id = $1 AND status = $2';
  if ((await client.query({ name: 'status', text, values: [id, from, to] })).rowCount === 1) return;
  const { rowCount } = await client.query('SELECT FROM pets WHERE id = $1', [id]);
  throw rowCount === 1 ? new Rejection(409, 'pet_not_available') : new Rejection(404, 'pet_not_found');
}
