import type { Socket } from 'node:net';
import { Client, type ClientBase, Pool, type QueryConfig, type QueryResultRow } from 'pg';

export const COLUMNS = 'id, name, category_id AS "categoryId", status';
const POOL_SIZE = 10;
/** As in the service a third of the connections read. Two insert, which is faster here. */
const READING_CLIENTS = 3;
const INSERTING_CLIENTS = 2;
const MAX_ROWS = 100;

export interface NewPet {
  readonly name: string;
  readonly categoryId: number;
  readonly status: string;
}

type Result<Row> = { readonly rows: Row[] };

/** The queries of a hand-written baseline. */
export interface Database {
  read<Row extends QueryResultRow>(query: QueryConfig): Promise<Result<Row>>;
  insert(pet: NewPet): Promise<Result<{ id: bigint }>>;
  transaction<T>(work: (client: ClientBase) => Promise<T>): Promise<T>;
}

/** Runs each query on a connection of its own. */
export function openPool(connectionString: string | undefined): Database {
  const pool = new Pool({ connectionString, max: POOL_SIZE });
  return {
    read: (query) => pool.query(query),
    insert: ({ name, categoryId, status }) =>
      pool.query<{ id: bigint }>({
        name: 'insert',
        text: `INSERT INTO pets (name, category_id, status) VALUES ($1, $2, $3) RETURNING ${COLUMNS}`,
        values: [name, categoryId, status],
      }),
    transaction: (work) => transact(pool, work),
  };
}

async function transact<T>(pool: Pool, work: (client: ClientBase) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

/**
 * Pipelines the reads and joins the insertions, as the service does (docs/decisions/0020). It has no timeouts, repeats
 * no query, and a slow query delays those behind it.
 */
export function openPipelined(connectionString: string | undefined): Database {
  const pool = new Pool({ connectionString, max: POOL_SIZE - READING_CLIENTS });
  const readers = Array.from({ length: READING_CLIENTS }, () => openReader(connectionString));
  return {
    read: (query) =>
      readers.reduce((one, other) => (other.inFlight < one.inFlight ? other : one)).read(query),
    insert: joinInsertions(pool),
    transaction: (work) => transact(pool, work),
  };
}

interface Reader {
  inFlight: number;
  readonly read: Database['read'];
}

/** Opens a connection that sends the queries of one turn of the event loop with one system call. */
function openReader(connectionString: string | undefined): Reader {
  const client = new Client({ connectionString, pipeline: true });
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  void client.connect();
  let isCorked = false;
  const cork = (): void => {
    if (isCorked) return;
    isCorked = true;
    stream.cork();
    setImmediate(() => {
      isCorked = false;
      stream.uncork();
    });
  };
  const reader: Reader = {
    inFlight: 0,
    read: async (query) => {
      cork();
      reader.inFlight += 1;
      try {
        return await client.query(query);
      } finally {
        reader.inFlight -= 1;
      }
    },
  };
  return reader;
}

interface Waiting {
  readonly pet: NewPet;
  readonly resolve: (result: Result<{ id: bigint }>) => void;
  readonly reject: (error: unknown) => void;
}

/** Inserts the animals of one turn of the event loop, and those that wait meanwhile, with one statement. */
function joinInsertions(pool: Pool): Database['insert'] {
  const waiting: Waiting[] = [];
  let running = 0;
  const begin = (): void => {
    if (running >= INSERTING_CLIENTS || waiting.length === 0) return;
    running += 1;
    void insertAll(pool, waiting.splice(0, MAX_ROWS)).finally(() => {
      running -= 1;
      begin();
    });
  };
  return (pet) => {
    if (waiting.length === 0) setImmediate(begin);
    return new Promise((resolve, reject) => waiting.push({ pet, resolve, reject }));
  };
}

async function insertAll(pool: Pool, joined: readonly Waiting[]): Promise<void> {
  try {
    const { rows } = await pool.query<{ id: bigint }>({
      name: 'insert_all',
      text: `INSERT INTO pets (name, category_id, status)
             SELECT name, category_id, status
             FROM unnest($1::text[], $2::bigint[], $3::text[]) WITH ORDINALITY AS t (name, category_id, status, i)
             ORDER BY i RETURNING ${COLUMNS}`,
      values: [
        joined.map(({ pet }) => pet.name),
        joined.map(({ pet }) => pet.categoryId),
        joined.map(({ pet }) => pet.status),
      ],
    });
    for (const [at, { resolve }] of joined.entries()) resolve({ rows: rows.slice(at, at + 1) });
  } catch (error) {
    for (const { reject } of joined) reject(error);
  }
}
