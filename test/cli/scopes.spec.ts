import { createDemoKey } from '../../src/app/create-demo-key';
import { createStore } from '../../src/app/store';
import { readConfig } from '../../src/platform/config/config';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { send } from '../support/http';

const BUYER = ['pets:read', 'pets:write', 'orders:read', 'orders:write'];
const STAFF = ['pets:manage', 'orders:manage'];

describe('the scopes of a key', () => {
  let service: TestApp;
  beforeAll(async () => {
    service = await startApp();
    service.clock.advance({ seconds: (Date.now() - service.clock.now()) / 1_000 });
  });
  afterAll(() => service.close());

  const cli = (...args: string[]) => runCli(args, { DATABASE_URL: service.database.url });
  const removal = async (key: string) =>
    (await send(service.url, 'DELETE', '/v1/pets/4711', { key })).json.code as string;

  it('keys create gives the four of a buyer, unless --scopes names others', async () => {
    const { json } = await cli('keys', 'create', '--account', 'buyer', '--json');
    expect(json().scopes).toEqual(BUYER);
    expect(await removal(json().key)).toBe('insufficient_scope');
  });

  it('keys create and keys set-scopes give the scopes of staff if --scopes names them', async () => {
    const scopes = STAFF.join(',');
    const created = (await cli('keys', 'create', '--account', 'staff', '--scopes', scopes, '--json')).json();
    expect(created.scopes).toEqual(STAFF);
    expect(await removal(created.key)).toBe('pet_not_found');
    const other = (await cli('keys', 'create', '--account', 'staff', '--json')).json();
    const { json } = await cli('keys', 'set-scopes', other.id, '--scopes', scopes, '--json');
    expect(json()).toEqual({ id: other.id, scopes: STAFF });
    expect(await removal(other.key)).toBe('pet_not_found');
  });

  it.each([
    ['keys', 'create'],
    ['keys', 'set-scopes'],
  ])('%s %s --help names every scope', async (...command) => {
    const { out } = await cli(...command, '--help');
    for (const scope of [...BUYER, ...STAFF]) expect(out.replaceAll(/\s+/g, ' ')).toContain(scope);
  });

  it('keys create --help shows the four of a buyer as the default', async () => {
    const { out } = await cli('keys', 'create', '--help');
    expect(out.replaceAll(/\s+/g, ' ')).toContain(`(default: ${BUYER.join(',')})`);
  });

  it('an unknown scope is wrong usage, and the message names every scope', async () => {
    const { status, all } = await cli('keys', 'create', '--account', 'x', '--scopes', 'orders:approve');
    expect(status).toBe(2);
    for (const scope of [...BUYER, ...STAFF]) expect(all).toContain(scope);
  });

  it('the demo key of a first start has all six', async () => {
    await service.database.query('TRUNCATE accounts CASCADE');
    const key = await createDemoKey(service.nest, readConfig({}), createStore());
    const [demo] = (await cli('keys', 'list', '--account', 'demo', '--json')).json();
    expect(demo.scopes.toSorted()).toEqual([...BUYER, ...STAFF].toSorted());
    expect(await removal(String(key))).toBe('pet_not_found');
  });
});
