import { Client } from 'pg';
import { EventsService } from '../../src/events/events.service';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { linksOf } from '../support/links';
import { type Event, PATH, settle } from './support/feed';

describe('the start of the feed', () => {
  let app: TestApp;
  beforeEach(async () => {
    app = await startApp();
  });
  afterEach(() => app.close());

  const removeOld = () => app.nest.get(EventsService, { strict: false }).run();
  const position = async (query: string) => {
    await settle(app);
    const page = await app.get(`${PATH}?${query}`);
    expect(page.status).toBe(200);
    const { next, first } = linksOf(page);
    return { next: next!, first, ids: page.json.map(({ data }: Event) => data['id']) as number[] };
  };

  it('has an empty page with the position of now, before which it reads nothing and after which it skips nothing', async () => {
    const start = await position('from=now');
    expect([start.ids, (await app.get(start.next)).json]).toEqual([[], []]);
    await app.post('/v1/pets', aNewPet({ name: 'before' }));
    const slow = new Client({ connectionString: app.database.directUrl });
    await slow.connect();
    await settle(app);
    await slow.query(`BEGIN; INSERT INTO pets (name, category_id, status) VALUES ('slow', 1, 'sold')`);
    await app.post('/v1/pets', aNewPet({ name: 'hidden' }));
    const links = linksOf(await app.get(`${PATH}?from=now&limit=1&type=pet.created`));
    expect(Object.values(links).join()).not.toMatch(/from|since/);
    expect(links['first']).toMatch(/\?limit=1&type=pet\.created$/);
    await slow.query('COMMIT');
    await slow.end();
    await settle(app);
    const names = [];
    for (let next = links['next']!, count = 1; count > 0;) {
      const page = await app.get(next);
      names.push(...page.json.map(({ data }: Event) => data['name']));
      next = linksOf(page)['next']!;
      count = page.json.length;
    }
    expect(names).toEqual(['slow', 'hidden']);
  });

  it('begins with the first event after a time, to the millisecond that createdAt shows', async () => {
    for (let at = 0; at < 4; at += 1) await app.post('/v1/pets', aNewPet());
    await app.database.query(
      `UPDATE events SET created_at = to_timestamp((data::json->>'id')::int + 0.0009)`,
    );
    const since = async (time: string, more = '') => (await position(`since=${time}${more}`)).ids;
    expect(await since('1970-01-01T00:00:01.000Z')).toEqual([2, 3, 4]);
    expect(await since('1970-01-01T00:00:00.999999Z')).toEqual([1, 2, 3, 4]);
    expect(await since('1970-01-01T02:00:03%2B02:00', '&limit=1')).toEqual([4]);
    expect(await since('1970-01-01T00:00:01z', '&type=pet.updated')).toEqual([]);
    for (const time of ['1970-01-01T00:00:04Z', '9999-12-31T23:59:59.999Z'])
      expect(await since(time)).toEqual([]);
    expect(await since('0001-01-01T00:00:00Z')).toHaveLength(4);
    const { next, first } = await position('since=1970-01-01T00:00:01Z&limit=2');
    expect([first, next].join()).not.toContain('since');
    expect((await app.get(next)).json.map(({ data }: Event) => data['id'])).toEqual([4]);
    const { next: end } = await position('since=9999-12-31T23:59:59.999Z');
    await app.post('/v1/pets', aNewPet());
    await settle(app);
    expect((await app.get(end)).json).toHaveLength(1);
  });

  it('returns 400 to two starts, and to one that is not valid', async () => {
    const [, cursor] = /(cursor=.*)/.exec((await position('from=now')).next)!;
    const time = 'since=2026-11-21T12:00:00Z';
    for (const starts of [`from=now&${time}`, `from=now&${cursor}`, `${cursor}&${time}`]) {
      const response = await app.get(`${PATH}?${starts}`);
      expectError(response, 400, 'validation_failed');
      expect(response.json.message).toBe('Only one of cursor, from and since may be given.');
    }
    const invalid = [
      'from=today',
      'from=',
      'from=now&from=now',
      'since=',
      'since=2026-11-21',
      `${time}&${time}`,
    ];
    for (const start of invalid) expectError(await app.get(`${PATH}?${start}`), 400, 'validation_failed');
  });

  it('returns 410 to a time with later events that were deleted or not written', async () => {
    for (let at = 0; at < 3; at += 1) await app.post('/v1/pets', aNewPet());
    await app.database.query(
      `UPDATE events SET created_at = $1::timestamptz - (40 - 15 * (data::json->>'id')::int) * interval '1 day'`,
      [new Date(app.clock.now())],
    );
    await settle(app);
    const [, second] = (await app.get(PATH)).json;
    await removeOld();
    const before = new Date(Date.parse(second.createdAt) - 1).toISOString();
    expectError(await app.get(`${PATH}?since=${before}`), 410, 'cursor_expired');
    expect((await position(`since=${second.createdAt}`)).ids).toEqual([3]);
    await (await startApp({ eventsRetentionDays: 0 } as object, { beside: app })).close();
    await removeOld();
    expectError(await app.get(`${PATH}?since=${second.createdAt}`), 410, 'cursor_expired');
    const [row] = await app.database.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    expect((await position(`since=${row!.now.toISOString()}`)).ids).toEqual([]);
  });

  it('responds 304 to the position of now while nothing has happened', async () => {
    const first = await app.get(`${PATH}?from=now`);
    const again = await app.get(`${PATH}?from=now`, {
      headers: { 'if-none-match': String(first.headers.etag) },
    });
    expect([again.status, linksOf(again)]).toEqual([304, linksOf(first)]);
  });
});
