import { withProgressBar } from '../../src/cli/progress-bar';
import { runCli } from '../support/cli';
import { createDatabase, type TestDatabase } from '../support/database';

describe('seed', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase('template0');
  });
  afterEach(() => database.truncate('pets RESTART IDENTITY CASCADE'));
  afterAll(() => database.drop());

  const seed = (...args: string[]) => runCli(['seed', ...args], { DATABASE_URL: database.url });

  const animals = () =>
    database.query<Record<'name' | 'category_id' | 'status', string>>(
      'SELECT name, category_id, status FROM pets ORDER BY id',
    );

  it('initialises an empty database, adds exactly that many plausible animals, and reports them in one line', async () => {
    const { status, out, all } = await seed('--pets', '2345');
    expect({ status, all }).toEqual({ status: 0, all: out });
    expect(out).toMatch(/^Added 2345 animals \(--random-seed \d+\)\.\n$/);
    const rows = await animals();
    expect(rows).toHaveLength(2_345);
    expect(new Set(rows.map((row) => row.status))).toEqual(new Set(['available', 'pending', 'sold']));
    expect(new Set(rows.map(({ name }) => name)).size).toBeGreaterThan(300);
    expect(new Set(rows.map((row) => row.category_id)).size).toBeGreaterThan(10);
    // No part repeats another.
    const names = rows.map(({ name }) => name);
    expect(names.join('\n').lastIndexOf(names.slice(0, 20).join('\n'))).toBe(0);
    for (const name of names) expect(name).toMatch(/^[A-Z][a-z]+( the [A-Z][a-z]+)?$/);
  });

  it('makes the same animals for the same --random-seed, and keeps existing animals', async () => {
    await seed('--pets', '1050', '--random-seed', 'shop');
    await seed('--pets', '1020', '--random-seed', 'shop');
    await seed('--pets', '1020', '--random-seed', 'other');
    const rows = await animals();
    expect(rows).toHaveLength(3_090);
    expect(
      rows.slice(0, 3).map(({ name, category_id, status }) => `${name}, ${category_id}, ${status}`),
    ).toEqual(['Kira the Little, 5, available', 'Simba, 24, available', 'Kira, 6, available']);
    expect(rows.slice(1_050, 2_070)).toEqual(rows.slice(0, 1_020));
    expect(rows.slice(2_070)).not.toEqual(rows.slice(0, 1_020));
  });

  it('adds no animals if it fails half-way; exits with 1 and prints the reason', async () => {
    expect(await seed('--pets', '1')).toMatchObject({ status: 0 });
    // The second statement fails.
    await database.query('ALTER TABLE pets ADD CONSTRAINT half CHECK (id <= 10001)');
    const { status, out, all } = await seed('--pets', '10001');
    expect({ status, out }).toEqual({ status: 1, out: '' });
    expect(all).toContain('half');
    await database.query('ALTER TABLE pets DROP CONSTRAINT half');
    expect(await animals()).toHaveLength(1);
  });

  it('ignores the timeouts of the role for statements, locks and transactions', async () => {
    expect(await seed('--pets', '1')).toMatchObject({ status: 0 });
    const name = new URL(database.directUrl).pathname.slice(1);
    const timeouts = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
    for (const timeout of timeouts)
      await database.query(`ALTER ROLE CURRENT_USER IN DATABASE "${name}" SET ${timeout} = '1min'`);
    await database.query(`
      CREATE TABLE seen AS SELECT name, setting FROM pg_settings WITH NO DATA;
      CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO seen SELECT name, setting FROM pg_settings WHERE name IN ('${timeouts.join("', '")}'); RETURN NULL;
      END $$;
      CREATE TRIGGER look AFTER INSERT ON pets FOR EACH STATEMENT EXECUTE FUNCTION look()`);
    expect(await seed('--pets', '100')).toMatchObject({ status: 0 });
    expect(await animals()).toHaveLength(101);
    const seen = await database.query('SELECT setting, count(*)::int FROM seen GROUP BY setting');
    expect(seen).toEqual([{ setting: '0', count: timeouts.length }]);
  });
});

it('the progress bar grows on one line of a terminal, is drawn once for each percent, and is removed', async () => {
  const drawn = async (isTTY: boolean) => {
    const writes: string[] = [];
    const screen = { isTTY, write: (text: string | Uint8Array) => !!writes.push(String(text)) };
    await withProgressBar(async (show) => {
      for (let done = 0; done <= 1_000; done += 1) show(done / 1_000);
    }, screen);
    return writes;
  };
  const writes = await drawn(true);
  expect(writes).toHaveLength(102);
  expect(writes[25]).toMatch(new RegExp(`^\r\u001B\\[2K${'█'.repeat(10)}${'░'.repeat(30)}  25 %$`));
  expect(writes.join('')).not.toContain('\n');
  expect(writes.at(-1)).toBe('\r\u001B[2K');
  expect(await drawn(false)).toEqual([]);
});
