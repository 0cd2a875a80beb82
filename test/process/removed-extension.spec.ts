import { kennels } from '../modules/support/kennels.extension';
import { createDatabase, type TestDatabase } from '../support/database';
import { send } from '../support/http';
import { startHere } from '../support/start';

const NOTICE = 'The tables of the removed extension kennels stay: "db forget kennels" deletes them.';

describe('a service whose extension is removed', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createDatabase('template0');
  });
  afterEach(() => database.drop());

  it('serves, keeps the tables, and says so once in its banner and in its log', async () => {
    const environment = { DATABASE_URL: database.directUrl };
    const first = await startHere(environment, { extensions: [kennels] });
    expect(first.printed + first.log.join('')).not.toContain('stay');
    const { key } = first;
    await database.query(`INSERT INTO kennels VALUES ('North')`);
    await first.stop();

    const without = await startHere(environment);
    expect(without.printed.split('\n').filter((line) => line.includes('stay'))).toEqual([`  ${NOTICE}`]);
    const logged = without.log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === NOTICE);
    expect(logged).toHaveLength(1);
    expect((await send(without.url, 'GET', '/v1/pets', { key })).status).toBe(200);
    const gone = await send(without.url, 'GET', '/v1/kennels/first', { key, isDocumented: false });
    expect(gone.json.code).toBe('route_not_found');
    await without.stop();

    const again = await startHere(environment, { extensions: [kennels] });
    const found = await send(again.url, 'GET', '/v1/kennels/first', { key, isDocumented: false });
    expect(found.json).toEqual({ name: 'North' });
    expect(again.printed).not.toContain('stay');
    await again.stop();
  });
});
