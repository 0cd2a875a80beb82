import { aNewPet } from '../../support/factories';
import type { HttpResponse } from '../../support/http';
import { pass } from '../../support/timers';
import { expectUnavailable, isOutcomeUnknown } from './expect-unavailable';
import { type CutApp, DIRECTIONS, endConnections, MAX_BYTES } from './fault-sweep';
import { poolOf } from './pool';

/** One pipelined connection, and a pool of two. */
export const BURST_POOL_SIZE = 3;

/** A new connection needs a few requests' time. */
const MAX_TRIES = 1_000;
/** The statement of the first read of a burst. */
const FIRST_READ = 'pets_find';
/** The statement of joined creations. */
export const JOINED = 'pets_insert_all';
/** On a busy machine the pool may repeat the reads of a burst before the connection is cut. */
const MAX_UNCUT = 3;
const CREATIONS = 6;
const REJECTED = ', rejected';

/** One request of a burst, with its response. */
interface Responded {
  readonly name: string;
  readonly response: HttpResponse;
}

/** The outcome of the sweeps of one kind of burst. */
export interface Bursts {
  cuts: number;
  responses: number;
  unavailable: number;
  /** Cuts after which two or more creations had an unknown outcome: they were joined. */
  joined: number;
  /** Statements of the pool: in a burst of reads, the repeated ones. */
  pooled: number;
}

/**
 * Sends requests at the same time, again and again. The connections are cut `stride` bytes later than those of the burst
 * before. The sweep ends when bursts complete before their cuts.
 *
 * @param sent cuts only the connection that sends this text first; undefined cuts every connection
 * @param ask sends the burst of this name
 * @param check checks the responses, when the proxy passes all bytes again
 */
async function sweepBursts(
  cutApp: CutApp,
  stride: number,
  sent: string | undefined,
  ask: (name: string) => Promise<Responded[]>,
  check: (responded: readonly Responded[], name: string) => Promise<void> | void,
): Promise<Bursts> {
  const { proxy } = cutApp;
  const bursts: Bursts = { cuts: 0, responses: 0, unavailable: 0, joined: 0, pooled: 0 };
  for (const direction of DIRECTIONS) {
    let uncut = 0;
    for (let bytes = 0; uncut < MAX_UNCUT; bytes += stride) {
      if (bytes > MAX_BYTES) throw new Error('no burst completed before its cut');
      await openPipelined(cutApp);
      const name = `${sent ?? 'all'} cut after ${bytes} bytes ${direction}`;
      proxy.cutAfter(bytes, direction, (bytes / stride) % 2 === 1, sent);
      const countOfPool = countPooled(cutApp.app);
      const responded = await ask(name);
      bursts.pooled += countOfPool();
      const wasCut = proxy.heal();
      for (const { response } of responded) if (response.status === 503) expectUnavailable(response);
      await check(responded, name);
      uncut = wasCut ? 0 : uncut + 1;
      if (!wasCut) continue;
      bursts.cuts += 1;
      bursts.responses += responded.length;
      bursts.unavailable += responded.filter(({ response }) => response.status === 503).length;
      if (responded.filter(({ response }) => isOutcomeUnknown(response)).length > 1) bursts.joined += 1;
      if (sent === undefined) await endConnections(cutApp);
    }
  }
  return bursts;
}

/** Opens the pipelined connection: when it is open, a read needs no connection of the pool. */
async function openPipelined({ app, key }: CutApp): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    pass({ seconds: 1 });
    const counted = countPooled(app);
    const { status } = await app.get('/v1/pets/0', { key });
    if (counted() === 0 && status === 404) return;
    expect([404, 503]).toContain(status);
  }
  throw new Error('no pipelined connection was opened');
}

/** Counts the statements that the pool runs from now on. @returns a function that returns their number, and ends */
function countPooled(app: CutApp['app']): () => number {
  const pool = poolOf(app);
  let count = 0;
  const increment = () => (count += 1);
  pool.on('acquire', increment);
  return () => {
    pool.off('acquire', increment);
    return count;
  };
}

/** Sweeps reads that share a connection. Only that connection is cut: each read has its own result, as without a cut. */
export async function sweepReads(cutApp: CutApp, stride: number): Promise<Bursts> {
  const { app, key } = cutApp;
  const paths = await pathsOf(cutApp);
  const ask = (): Promise<Responded[]> =>
    Promise.all(paths.map(async (name) => ({ name, response: await app.get(name, { key }) })));
  const expected = (await ask()).map(({ response }) => [response.status, response.text]);
  return sweepBursts(cutApp, stride, FIRST_READ, ask, (responded) =>
    expect(responded.map(({ response }) => [response.status, response.text])).toEqual(expected),
  );
}

/**
 * Sweeps creations and a read. Each creation is 201 or 503, and its response says if the animal exists; one that the
 * database rejects is 500 or 503; the read is 200 or 503.
 *
 * @param sent cuts only the connection that sends this text first; undefined cuts every connection
 * @param hasRejected true if the database rejects one of the creations
 */
export async function sweepCreations(
  cutApp: CutApp,
  stride: number,
  { sent, hasRejected = false }: { sent?: string; hasRejected?: boolean } = {},
): Promise<Bursts> {
  const { app, key } = cutApp;
  // Each sweep gives its animals the same names.
  await app.database.query('TRUNCATE pets, store_orders');
  if (hasRejected) await app.database.query(REJECT);
  const [path = ''] = await pathsOf(cutApp);
  const { text: expected } = await app.get(path, { key });
  const responded = (name: string, response: Promise<HttpResponse>) =>
    response.then((each) => ({ name, response: each }));
  const ask = (burst: string) => {
    const names = Array.from({ length: CREATIONS }, (_, at) => `${burst}: ${at}`);
    if (hasRejected) names[2] += REJECTED;
    return Promise.all([
      ...names.map((name) => responded(name, app.post('/v1/pets', aNewPet({ name }), { key }))),
      responded(path, app.get(path, { key })),
    ]);
  };
  const bursts = await sweepBursts(cutApp, stride, sent, ask, async (responses, burst) => {
    const stored = await app.database.query<{ id: string; name: string }>(STORED, [`${burst}: `]);
    for (const { name, response } of responses) {
      const ids = stored.filter((row) => row.name === name).map(({ id }) => id);
      if (name !== path) expectAsStored(name, response, ids);
      else if (response.status !== 503) expect([200, expected]).toEqual([response.status, response.text]);
    }
  });
  if (hasRejected) await app.database.query('DROP FUNCTION reject CASCADE');
  return bursts;
}

function expectAsStored(name: string, response: HttpResponse, ids: readonly string[]): void {
  const { status, text } = response;
  expect(name.endsWith(REJECTED) ? [500, 503] : [201, 503]).toContain(status);
  if (status === 201) expect(text).toContain(`{"id":${ids.join()},"name":${JSON.stringify(name)},`);
  else if (isOutcomeUnknown(response)) expect(ids.length).toBeLessThanOrEqual(1);
  else expect(ids).toEqual([]);
}

/** Creates animals and an order. @returns paths of pipelined reads with different results */
async function pathsOf({ app, key }: CutApp): Promise<string[]> {
  const ids: number[] = [];
  for (const status of ['available', 'sold'] as const) {
    ids.push((await app.post('/v1/pets', aNewPet({ status }), { key })).json.id);
  }
  await app.post('/v1/store/orders', { petId: ids[0] }, { key });
  return [
    `/v1/pets/${ids[1]}`,
    '/v1/pets/0',
    '/v1/pets?limit=1',
    '/v1/pets?limit=1&status=sold',
    '/v1/store/orders?limit=1',
    '/v1/pets?limit=1&categoryId=3&sort=-id',
  ];
}

const STORED = 'SELECT id, name FROM pets WHERE starts_with(name, $1)';

/** The database rejects animals of this name, and with them the statement that inserts others, too. */
const REJECT = `
  CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN IF NEW.name LIKE '%${REJECTED}' THEN RAISE 'no' USING ERRCODE = '23514'; END IF; RETURN NEW; END $$;
  CREATE TRIGGER reject BEFORE INSERT ON pets FOR EACH ROW EXECUTE FUNCTION reject()`;
