import { migrations } from '../../src/database/migrations';
import { createDatabase, type TestDatabase } from '../support/database';
import { send } from '../support/http';
import { run, running, type RunningService } from '../support/service';

describe('with DATABASE_URL', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createDatabase('template0');
  });
  const started: RunningService[] = [];
  afterEach(async () => {
    for (const { child } of started.splice(0)) child.kill('SIGKILL');
    await database.drop();
  });

  async function start(deployment: string): Promise<RunningService> {
    const service = await running(run('main', [], { DATABASE_URL: database.url, DEPLOYMENT: deployment }));
    started.push(service);
    return service;
  }

  async function stop(...services: RunningService[]): Promise<void> {
    for (const service of services) service.child.kill('SIGTERM');
    for (const service of services) expect(await service.ended).toBe(0);
  }

  it.each(['production', 'staging'])('%s prints no key, but how to make one', async (deployment) => {
    const service = await start(deployment);
    expect(service.key).toBeUndefined();
    expect(service.output()).not.toMatch(/ask_(live|test)_/);
    expect(service.output()).toContain('npm run -s cli -- keys create --account NAME');
    await stop(service);
  });

  it('several that start at once migrate once, and exactly one of them prints a key, good at all', async () => {
    const services = await Promise.all([start('development'), start('development'), start('development')]);
    const keys = services.flatMap(({ key }) => (key === undefined ? [] : [key]));
    expect(keys).toHaveLength(1);
    for (const { url } of services) {
      expect((await send(url, 'GET', '/v1/pets', { key: keys[0] })).status).toBe(200);
    }
    expect(await database.query('SELECT name FROM migrations')).toHaveLength(migrations.length);
    await stop(...services);
  });

  it('refuses a database that a newer version has migrated, in one sentence', async () => {
    await stop(await start('production'));
    await database.query(
      `INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'FromTheFuture9999999999999')`,
    );
    const refused = run('main', [], { DATABASE_URL: database.url });
    expect(await refused.ended).toBe(1);
    expect(refused.output()).toMatch(
      /^The database was migrated by a newer version of Animal Store \(FromTheFuture9999999999999\): .*\n$/,
    );
  });
});
