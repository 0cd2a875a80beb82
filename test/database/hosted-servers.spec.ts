import { settle } from '../events/support/feed';
import { createDatabase, type TestDatabase } from '../support/database';
import { aNewPet } from '../support/factories';
import { send } from '../support/http';
import { rejectionOf, startHere } from '../support/start';

const nameOf = (signature: string) => signature.replace(/\(.*/, '');
const rename = (signature: string) => `ALTER FUNCTION ${signature} RENAME TO missing_${nameOf(signature)}`;
const renameBack = (signature: string) =>
  `ALTER FUNCTION missing_${signature} RENAME TO ${nameOf(signature)}`;
/** PostgreSQL calls its own functions by their numbers: a new body of one has no effect. */
const raise = (code: string) => (signature: string) => `
  DO $do$ DECLARE definition text := pg_get_functiondef('${signature}'::regprocedure); BEGIN
    ${rename(signature)};
    EXECUTE regexp_replace(definition, ' LANGUAGE .*',
      ' LANGUAGE plpgsql AS $f$ BEGIN RAISE ''not here'' USING ERRCODE = ''${code}''; END $f$');
  END $do$`;
const raiseNot = (signature: string) => `DROP FUNCTION pg_catalog.${signature}; ${renameBack(signature)}`;
const revoke = (signature: string) => `REVOKE ALL ON FUNCTION ${signature} FROM PUBLIC`;
const grant = (signature: string) => `GRANT ALL ON FUNCTION ${signature} TO PUBLIC`;

const DENIED = /^The database cannot be used \(permission denied for function \w+\): check DATABASE_URL, /;
const REFUSED =
  /^The database cannot be used \((function \w+\(.*\) does not exist|not here)\): check DATABASE_URL, /;
const NEEDED = [
  ['pg_control_system()', 'pg_postmaster_start_time()'],
  ['pg_advisory_xact_lock(bigint)'],
  ['set_config(text,text,boolean)'],
];
const DISPENSABLE = [['pg_control_system()', 'pg_control_checkpoint()'], ['pg_postmaster_start_time()']];

/** Decision 40 lists what the service needs of the server beyond plain SQL. */
describe.each([
  ['may not be executed', revoke, grant, DENIED, NEEDED, DISPENSABLE],
  ['are missing', rename, renameBack, REFUSED, NEEDED.slice(1), DISPENSABLE.toReversed()],
  ['raise the error 55000', raise('55000'), raiseNot, REFUSED, NEEDED.slice(0, 1), undefined],
  ['raise the error 0A000', raise('0A000'), raiseNot, REFUSED, NEEDED.slice(1, 2), undefined],
])('if functions of the server %s', (_what, withhold, giveBack, sentence, needed, dispensable) => {
  let database: TestDatabase;
  const create = async () => void (database = await createDatabase('template0'));
  beforeAll(create);
  afterAll(() => database.drop());

  async function without<T>(signatures: readonly string[], work: (DATABASE_URL: string) => Promise<T>) {
    for (const each of signatures) await database.administer(withhold(each));
    const result = await work(database.directUrl);
    for (const each of signatures) await database.administer(giveBack(each));
    return result;
  }

  it.each(needed)('the start says so in one sentence, without %s', async (...signatures) => {
    // A new database needs one of both functions.
    if (signatures.length > 1) await database.drop().then(create);
    expect(await without(signatures, (DATABASE_URL) => rejectionOf({ DATABASE_URL }))).toMatch(sentence);
  });

  // Any error of them has the same effect.
  if (!dispensable) return;
  it(`the service starts, and the feed continues, without ${dispensable.join(', then without ')}`, async () => {
    let known: string | undefined;
    const serve = (path: string, name: string) => async (DATABASE_URL: string) => {
      const { url, key, stop } = await startHere({ DATABASE_URL });
      known ??= key;
      const options = { key: known, headers: { 'idempotency-key': name } };
      const pet = await send(url, 'POST', '/v1/pets', { ...options, body: aNewPet({ name }) });
      await settle({ database });
      const feed = await send(url, 'GET', path, { key: known });
      const { status } = await send(url, 'GET', '/readyz');
      await stop();
      expect([pet.status, status, feed.json]).toMatchObject([201, 200, [{ data: { name } }]]);
      return /<(.*)>; rel="next"/.exec(String(feed.headers['link']))![1]!;
    };
    const next = await without(dispensable[0]!, serve('/v1/events', 'first'));
    // As after a restart of the server, or its restore.
    await database.query(`UPDATE event_log SET cluster = 'start 1'`);
    await without(dispensable[1]!, serve(next, 'second'));
  });
});
