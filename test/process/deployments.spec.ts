import { migrations } from '../support/schema-config';
import { createDatabase, type TestDatabase } from '../support/database';
import { send } from '../support/http';
import { rejectionOf, startHere } from '../support/start';

describe('with DATABASE_URL', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createDatabase('template0');
  });
  afterEach(() => database.drop());

  const start = (deployment: string) =>
    startHere({ DATABASE_URL: database.directUrl, DEPLOYMENT: deployment });

  it.each(['production', 'staging'])(
    '%s prints no key, but the command that creates one',
    async (deployment) => {
      const service = await start(deployment);
      expect(service.key).toBeUndefined();
      expect(service.printed).not.toMatch(/ask_(live|test)_/);
      expect(service.printed).toContain('npm run -s cli -- keys create --account NAME');
      await service.stop();
    },
  );

  it('concurrent first starts migrate once, and exactly one prints a key, valid on all instances', async () => {
    const services = await Promise.all([start('development'), start('development'), start('development')]);
    const keys = services.flatMap(({ key }) => (key === undefined ? [] : [key]));
    expect(keys).toHaveLength(1);
    for (const { url } of services) {
      expect((await send(url, 'GET', '/v1/pets', { key: keys[0] })).status).toBe(200);
    }
    expect(await database.query('SELECT name FROM migrations')).toHaveLength(migrations.length);
    for (const service of services) await service.stop();
  });

  it('rejects a database that a newer version has migrated, in one sentence', async () => {
    await (await start('production')).stop();
    await database.query(
      `INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'FromTheFuture9999999999999')`,
    );
    expect(await rejectionOf({ DATABASE_URL: database.directUrl })).toBe(
      'The database was migrated by a newer version of Animal Store (FromTheFuture9999999999999). Install that version again, or run its "db revert" until this migration is reverted.',
    );
  });
});
