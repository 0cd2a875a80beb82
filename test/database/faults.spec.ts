import { settle } from '../events/support/feed';
import { emptyPool } from '../failure/support/pool';
import { startApp, type TestApp } from '../support/app';
import { END_OTHER_SESSIONS } from '../support/database';
import { aNewPet } from '../support/factories';
import { rejectionOf } from '../support/start';
import { holdMeasuredTime, pass } from '../support/timers';

/** Statements, and those of the advice. ALL includes foreign keys. */
const FAULTS: Readonly<Record<string, string>> = {
  'ALTER TABLE pets DISABLE TRIGGER record_insert': 'ALTER TABLE pets ENABLE TRIGGER USER',
  'ALTER TABLE pets ENABLE REPLICA TRIGGER record_update': 'ALTER TABLE pets ENABLE TRIGGER USER',
  'ALTER TABLE accounts DISABLE TRIGGER ALL': 'ALTER TABLE accounts ENABLE TRIGGER ALL',
};

describe('a database that confirms changes without their events or checks', () => {
  let app: TestApp;
  beforeAll(async () => {
    holdMeasuredTime();
    app = await startApp();
  });
  afterAll(async () => {
    await app.close();
    jest.useRealTimers();
  });

  const administer = (text: string) => app.database.administer(text);
  const isReady = async () => (await app.get('/readyz', { key: undefined })).status === 200;
  const startSays = () => rejectionOf({ DATABASE_URL: app.database.url });

  it.each(Object.entries(FAULTS))(
    'is found by /readyz after a minute, and by a start: %s',
    async (fault, fix) => {
      pass({ seconds: 60 });
      expect(await isReady()).toBe(true);
      await administer(fault);
      expect(await isReady()).toBe(true);
      pass({ seconds: 60 });
      expect(await isReady()).toBe(false);
      const sentence = await startSays();
      expect(sentence).toMatch(
        /^The database confirms changes without their events or checks\. As a superuser run /,
      );
      expect(sentence).toContain(` ${fix}.`);
      expect(app.log.join('\n')).toContain(sentence);
      await administer(fix);
      expect(await isReady()).toBe(true);
    },
  );

  it.each(['DATABASE %', 'ROLE app IN DATABASE %'])(
    'gets no request and no start while session_replication_role of %s is replica, which the role may not change',
    async (place) => {
      const changed = `ALTER ${place.replace('%', new URL(app.database.directUrl).pathname.slice(1))}`;
      await administer(`${changed} SET session_replication_role = replica`);
      await emptyPool(app, () => app.database.query(END_OTHER_SESSIONS));
      expect((await app.post('/v1/pets', aNewPet())).status).toBe(503);
      expect(await startSays()).toMatch(/ As a superuser run ALTER .+ RESET session_replication_role\.$/);
      await administer('GRANT SET ON PARAMETER session_replication_role TO app');
      const { id } = (await app.post('/v1/pets', aNewPet())).json;
      await settle(app);
      expect((await app.get('/v1/events')).json.at(-1).data.id).toBe(id);
      await administer('REVOKE SET ON PARAMETER session_replication_role FROM app');
      await administer(`${changed} RESET session_replication_role`);
    },
  );

  it('is not found in tables of others, but in each of the store', async () => {
    await app.database.query(
      'CREATE TABLE items (id bigint PRIMARY KEY); CREATE TABLE parts (item_id bigint REFERENCES items)',
    );
    await administer('ALTER TABLE parts DISABLE TRIGGER ALL');
    pass({ seconds: 60 });
    expect(await isReady()).toBe(true);
    await app.database.query('DROP TABLE parts, items');
    const tables = await app.database.query<{ name: string }>(
      'SELECT DISTINCT tgrelid::regclass::text AS name FROM pg_trigger',
    );
    for (const { name } of tables) await administer(`ALTER TABLE ${name} DISABLE TRIGGER ALL`);
    pass({ seconds: 60 });
    expect(await isReady()).toBe(false);
    for (const { name } of tables) {
      expect(app.log.at(-1)).toContain(`ALTER TABLE ${name} ENABLE TRIGGER `);
      await administer(`ALTER TABLE ${name} ENABLE TRIGGER ALL`);
    }
    expect(await isReady()).toBe(true);
  });
});
