import { randomUUID } from 'node:crypto';
import { FREE } from '../../src/auth';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import type { HttpResponse } from '../support/http';

describe('commands and operations of administration', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
    app.clock.advance({ seconds: (Date.now() - app.clock.now()) / 1_000 });
  });
  afterAll(() => app.close());

  const cli = (command: string) => runCli(command.split(' '), { DATABASE_URL: app.database.url });
  const patch = (path: string, body: object) => app.send('PATCH', path, { body });

  /** Returns the rows of an account, without the values that differ between two accounts. */
  async function traceOf(account: string, id: string) {
    const [row] = await app.database.query<any>(
      `SELECT to_jsonb(a) - '{id,name,created_at}'::text[] AS account, (
         SELECT jsonb_agg(to_jsonb(k) - '{id,number,account_id,secret_hash,last_four,created_at}'::text[] ORDER BY number)
         FROM api_keys k WHERE account_id = a.id
       ) AS keys, (
         SELECT jsonb_agg(jsonb_build_array(command, key_id IS NOT NULL, details, os_user IS NULL, made_by_key) ORDER BY id)
         FROM audit_entries WHERE account = a.name
       ) AS audit, (SELECT count(*)::int FROM rotated_secrets r JOIN api_keys k ON k.id = key_id AND account_id = a.id) AS old
       FROM accounts a WHERE name = $1`,
      [account],
    );
    const text = JSON.stringify(row).replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)/g, 'TIME');
    return JSON.parse(text.replaceAll(account, 'ACCOUNT').replaceAll(id, 'KEY'));
  }

  const BLOCKS = ['192.0.2.0/24', '2001:db8::/32'];
  const CHANGES: readonly [command: string, ask: (account: string, id: string) => Promise<HttpResponse>][] = [
    [
      `keys create --account A --scopes pets:read,admin --label x --expires never --addresses ${BLOCKS.join(',')}`,
      (account) =>
        app.post(`/v1/accounts/${account}/keys`, {
          scopes: ['pets:read', 'admin'],
          label: 'x',
          expiresAt: null,
          addresses: BLOCKS,
        }),
    ],
    ['keys create --account A', (account) => app.post(`/v1/accounts/${account}/keys`, {})],
    ['accounts set-plan A --plan pro', (account) => patch(`/v1/accounts/${account}`, { plan: 'pro' })],
    [
      'accounts set-plan A --plan enterprise --per-minute 5 --per-day 50',
      (account) => patch(`/v1/accounts/${account}`, { plan: 'enterprise', perMinute: 5, perDay: 50 }),
    ],
    ['accounts disable A', (account) => patch(`/v1/accounts/${account}`, { disabled: true })],
    ['accounts enable A', (account) => patch(`/v1/accounts/${account}`, { disabled: false })],
    ['keys set-scopes K --scopes pets:read', (_, id) => patch(`/v1/keys/${id}`, { scopes: ['pets:read'] })],
    [
      `keys set-addresses K --addresses ${BLOCKS[0]}`,
      (_, id) => patch(`/v1/keys/${id}`, { addresses: [BLOCKS[0]] }),
    ],
    ['keys rotate K', (_, id) => app.post(`/v1/keys/${id}/rotate`, {})],
    ['keys rotate K --grace 0', (_, id) => app.post(`/v1/keys/${id}/rotate`, { graceSeconds: 0 })],
    ['keys unban K', (_, id) => app.send('POST', `/v1/keys/${id}/unban`)],
    ['keys revoke K --yes', (_, id) => app.send('DELETE', `/v1/keys/${id}`)],
  ];

  it.each(CHANGES)('%s and its operation leave equal rows and audit entries', async (command, ask) => {
    const traces = [];
    for (const isHttp of [false, true]) {
      const account = `a${randomUUID()}`;
      const { id } = await app.createKey({ account, choice: FREE });
      await app.database.query(`INSERT INTO key_bans VALUES ($1, now() + interval '1 h')`, [id]);
      if (command.includes('enable')) await cli(`accounts disable ${account}`);
      const isDone = isHttp
        ? (await ask(account, id)).status < 300
        : (await cli(command.replace(/\bA\b/, account).replace(/\bK\b/, id))).status === 0;
      expect(isDone).toBe(true);
      const { audit, ...rows } = await traceOf(account, id);
      // The last entry is that of the change.
      const [last] = audit.slice(-1);
      const own = isHttp ? (await app.get('/v1/key')).json.id : null;
      expect(last.splice(3)).toEqual([isHttp, own]);
      traces.push({ ...rows, audit: audit.map((entry: unknown[]) => entry.slice(0, 3)) });
    }
    expect(traces[1]).toEqual(traces[0]);
    expect(traces[0].audit).toHaveLength(command.includes('enable') ? 3 : 2);
  });
});
