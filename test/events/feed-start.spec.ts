import { Client } from 'pg';
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
    expect(Object.values(links).join()).not.toContain('from');
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

  it('returns 400 to two starts, and to one that is not valid', async () => {
    const [, cursor] = /(cursor=.*)/.exec((await position('from=now')).next)!;
    const response = await app.get(`${PATH}?from=now&${cursor}`);
    expectError(response, 400, 'validation_failed');
    expect(response.json.message).toBe('Only one of cursor and from may be given.');
    for (const start of ['from=today', 'from=', 'from=now&from=now'])
      expectError(await app.get(`${PATH}?${start}`), 400, 'validation_failed');
  });
});
