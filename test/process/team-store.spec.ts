import { createAnimalStore } from '../../src';
import { createDatabase } from '../support/database';
import { send } from '../support/http';
import { run, running } from '../support/service';
import { kennels } from '../modules/support/kennels.extension';

const PROGRAM = '../test/process/support/team-store';

describe("a team's store", () => {
  it('starts with its extension: tables, a demo key with its scopes; other keys get them on request', async () => {
    const database = await createDatabase('template0');
    const environment = { DATABASE_URL: database.directUrl, LOG_LEVEL: 'silent' };
    const service = await running(run(PROGRAM, [], environment));
    const get = (key: string | undefined) =>
      send(service.url, 'GET', '/v1/kennels/first', { key, isDocumented: false });
    expect((await get(service.key)).json).toMatchObject({ code: 'kennel_closed', status: 409 });
    const command = run(
      PROGRAM,
      ['keys', 'create', '--account', 'acme', '--scopes', 'kennels:read', '--json'],
      environment,
    );
    expect(await command.ended).toBe(0);
    const { key } = JSON.parse(command.output());
    await database.query(`INSERT INTO kennels VALUES ('North')`);
    expect((await get(key)).json).toEqual({ name: 'North' });
    const usual = run(PROGRAM, ['keys', 'create', '--account', 'acme', '--json'], environment);
    expect(await usual.ended).toBe(0);
    expect(JSON.parse(usual.output())).toMatchObject({
      scopes: ['pets:read', 'pets:write', 'orders:read', 'orders:write'],
    });
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    await database.drop();
  });

  it('can be built without listening, and closes its database with the application', async () => {
    const database = await createDatabase('template0');
    const app = await createAnimalStore(
      { extensions: [kennels] },
      { databaseUrl: database.directUrl, logLevel: 'silent' },
    );
    await app.listen(0, '127.0.0.1');
    expect((await send(await app.getUrl(), 'GET', '/readyz', {})).status).toBe(200);
    await app.close();
    await database.drop();
  });
});
