import { kennels } from '../modules/support/kennels.extension';
import { createAnimalStore } from '../../src';
import { createDemoKey } from '../../src/app/banner';
import { readConfig } from '../../src/config/config';
import { CoreModule } from '../../src/app/core.module';
import { runCli } from '../support/cli';
import { migrations } from '../support/schema-config';
import { createDatabase, type TestDatabase } from '../support/database';
import { send } from '../support/http';
import { startHere } from '../support/start';
import { until } from '../support/until';

const NOTICE =
  'The tables of the removed extension kennels stay. "db revert --extension kennels" of a program that has it deletes them.';

/** Of buyers and staff, without admin. */
const SCOPES =
  'events:read orders:manage orders:read orders:write pets:manage pets:read pets:write webhooks:manage';

describe('with DATABASE_URL', () => {
  let database: TestDatabase;
  afterEach(() => database.drop());

  it('exactly one of concurrent first starts prints a key, valid on all; production and staging print none', async () => {
    database = await createDatabase('template0');
    const environment = { DATABASE_URL: database.directUrl };
    const services = await Promise.all([startHere(environment), startHere(environment)]);
    const keys = services.flatMap(({ key }) => (key === undefined ? [] : [key]));
    expect(keys).toHaveLength(1);
    for (const { url } of services)
      expect((await send(url, 'GET', '/v1/key', { key: keys[0] })).json.scopes.toSorted()).toEqual(
        SCOPES.split(' '),
      );
    expect(await database.query('SELECT name FROM migrations')).toHaveLength(migrations.length);
    for (const service of services) await service.stop();

    // A database without accounts, as at a first start.
    await database.truncate('accounts CASCADE');
    const production = await startHere({ ...environment, DEPLOYMENT: 'production' });
    expect(production.key).toBeUndefined();
    expect(production.printed).not.toMatch(/ask_(live|test)_/);
    expect(production.printed).toContain('npm run -s cli -- keys create --account NAME');
    const staging = readConfig({ DEPLOYMENT: 'staging' });
    expect(await createDemoKey(production.app, staging, production.store)).toBeUndefined();
    expect(await database.query('SELECT FROM api_keys')).toEqual([]);
    await production.stop();
  });

  it('starts next to a newer version that has migrated the database', async () => {
    database = await createDatabase();
    const environment = { DATABASE_URL: database.directUrl };
    await database.query(`INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'FromTheFuture')`);
    const service = await startHere(environment);
    expect((await send(service.url, 'GET', '/readyz', {})).status).toBe(200);
    await service.stop();
  });
});

describe("a team's store", () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createDatabase();
  });
  afterEach(() => database.drop());

  const extensions = [kennels];
  const getKennel = ({ url }: { url: string }, key: string | undefined) =>
    send(url, 'GET', '/v1/kennels/first', { key, isDocumented: false });

  it('has the tables of its extension, and a demo key with its scopes; other keys get them on request', async () => {
    const environment = { DATABASE_URL: database.directUrl };
    const create = async (...more: string[]) => {
      const args = ['keys', 'create', '--account', 'acme', '--json', ...more];
      return (await runCli(args, environment, { extensions })).json();
    };
    const service = await startHere(environment, { extensions });
    expect(service.log.join('')).not.toContain('stay');
    expect((await getKennel(service, service.key)).json).toMatchObject({
      code: 'kennel_closed',
      status: 409,
    });
    await database.query(`INSERT INTO kennels VALUES ('North')`);
    const { key } = await create('--scopes', 'kennels:read');
    expect((await getKennel(service, key)).json).toEqual({ name: 'North' });
    expect((await create()).scopes).toEqual([
      'pets:read',
      'pets:write',
      'orders:read',
      'orders:write',
      'events:read',
    ]);
    await service.stop();

    // Without the extension: it serves, keeps the tables, and says so once.
    const without = await startHere(environment);
    const logged = without.log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === NOTICE);
    expect(logged).toHaveLength(1);
    expect((await send(without.url, 'GET', '/v1/pets', { key: service.key })).status).toBe(200);
    expect((await getKennel(without, key)).json.code).toBe('route_not_found');
    await without.stop();
    expect(await database.query('SELECT name FROM kennels')).toEqual([{ name: 'North' }]);
  });

  it('can be built without listening, and closes its database after the last connection of the application', async () => {
    const config = { databaseUrl: database.directUrl, logLevel: 'silent' } as const;
    const app = await createAnimalStore({ extensions }, config);
    await app.listen(0, '127.0.0.1');
    expect((await send(await app.getUrl(), 'GET', '/readyz', {})).status).toBe(200);
    const sessions = `SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;
    let isLast = false;
    app.get(CoreModule).afterClose(async () => {
      await until(async () => (await database.query(sessions)).length === 0);
      isLast = true;
    });
    await app.close();
    expect(isLast).toBe(true);
  });

  it('built without listening, validates by the schemas of routes that the program adds, and rejects a wrong one', async () => {
    const create = () => createAnimalStore({}, { databaseUrl: database.directUrl, logLevel: 'silent' });
    const routeOf = (schema: object) => ({ config: { public: true }, schema });
    const querystring = { type: 'object', properties: { n: { type: 'integer' } } };
    const app = await create();
    const fastify = app.getHttpAdapter().getInstance();
    fastify.get('/own', routeOf({ querystring }), ({ query }) => query);
    await app.listen(0, '127.0.0.1');
    expect((await send(await app.getUrl(), 'GET', '/own?n=5', {})).json).toEqual({ n: 5 });
    await app.close();
    const other = await create();
    const wrong = routeOf({ response: { 200: { type: 'nothing' } } });
    other
      .getHttpAdapter()
      .getInstance()
      .get('/own', wrong, () => ({}));
    await expect(other.listen(0, '127.0.0.1')).rejects.toThrow('serialization schema for GET: /own');
    await other.close();
  });
});
