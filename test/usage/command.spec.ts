import { listOf } from '../../src/cli/output';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';

const ONE = { admitted: 1, rejected: 0, failed: 0, errors: 0 };
const RANGE = '--from 2026-11-20 --to 2026-11-21';

describe('usage of the command line', () => {
  let app: TestApp;
  const cli = (command: string) => runCli(command.split(' '), { DATABASE_URL: app.database.url });
  const ids: string[] = [];
  beforeAll(async () => {
    app = await startApp();
    for (const [account, label] of [
      ['one', 'shop'],
      ['two', ''],
    ] as const) {
      const { id } = await app.createKey({ account, label });
      ids.push(id);
      await app.database.query(
        `INSERT INTO key_usage SELECT account_id, '2026-11-21', id, 40, 10, 3, 1 FROM api_keys WHERE id = $1`,
        [id],
      );
    }
    await app.database.query(`INSERT INTO key_usage VALUES (-1, '2026-11-20', 'user', 1, 0, 0, 0)`);
  });
  afterAll(() => app.close());

  it('prints the rows of getUsage with the account, of all accounts or of one', async () => {
    const counts = { date: '2026-11-21', admitted: 40, rejected: 10, failed: 3, errors: 1 };
    const one = { ...counts, account: 'one', keyId: ids[0], label: 'shop' };
    expect((await cli(`usage ${RANGE} --json`)).json()).toEqual([
      { date: '2026-11-20', account: null, keyId: 'user', label: null, ...ONE },
      one,
      { ...counts, account: 'two', keyId: ids[1], label: null },
    ]);
    expect((await cli(`usage --account one ${RANGE} --json`)).json()).toEqual([one]);
    expect((await cli(`usage --account one --to 2026-11-20 --json`)).json()).toEqual([]);
    const unknown = await cli('usage --account three');
    expect([unknown.status, unknown.all]).toEqual([1, expect.stringContaining('no account named three')]);
    expect((await cli('usage --from 2026-02-30')).status).toBe(2);
  });

  it('draws bars on a terminal, in 80 columns', async () => {
    expect((await cli(`usage ${RANGE}`)).out).not.toContain('█');
    const { isTTY } = process.stdout;
    Object.assign(process.stdout, { isTTY: true });
    const { out } = await cli(`usage ${RANGE}`);
    Object.assign(process.stdout, { isTTY });
    expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['DATE', 'ACCOUNT', 'KEY', 'ADMITTED', 'REJECTED', 'FAILED', 'ERRORS', 'REQUESTS'],
      ['2026-11-20', '-', 'user', '1', '0', '0', '0', '█'],
      ['2026-11-21', 'one', 'shop', '40', '10', '3', '1', '████████░░'],
      ['2026-11-21', 'two', `${ids[1]!.slice(0, 8)}…`, '40', '10', '3', '1', '████████░░'],
      [''],
    ]);
  });

  it('prints 150,000 rows', () => {
    const { text } = listOf(Array.from({ length: 150_000 }), () => ({ date: '2026-11-21' }));
    expect(text.split('\n')).toHaveLength(150_001);
  });
});
