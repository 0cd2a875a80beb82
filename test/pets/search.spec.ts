import { call, connectAgent } from '../mcp/support';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { linksOf } from '../support/links';
import { lockWaits } from '../support/lock-waits';
import { holdMeasuredTime, pass } from '../support/timers';
import { until } from '../support/until';
import { addAll as addNames, expectModel, pagesOf as readPages, type Row } from './support/search-model';

describe('GET /v1/pets/search (searchPets)', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await startApp();
    key = await app.unlimitedKey();
  });
  beforeEach(() => app.database.truncate('pets RESTART IDENTITY CASCADE'));
  afterAll(() => app.close());

  const search = (q: string, query = '') =>
    app.get(`/v1/pets/search?q=${encodeURIComponent(q)}${query}`, { key });
  const addAll = (names: readonly string[]) => addNames(app, names);
  const pagesOf = (q: string, query: string) => readPages(app, key, q, query);
  const namesOf = ({ json }: { json: Row[] }) => json.map(({ name }) => name);
  const namesFor = async (q: string, query = '') => namesOf(await search(q, query));

  it.each([
    ['rex', ['Rex', 'REX the Brave', 'Rexa']],
    ['re', ['Rex', 'REX the Brave', 'Rexa']],
    ['BRAVE rex', ['REX the Brave']],
    ['zoe', ['Zoë', 'Zoe\u0308 Ångström']],
    ['angstrom ZOË', ['Zoe\u0308 Ångström']],
    ['бел', ['БЕЛКА']],
    ['smorre', ['Smørre']],
    ['strasse', ['Straße 7']],
    ['7', ['Straße 7']],
    ['小', ['小白狗']],
    ['שלום', ['שָׁלוֹם']],
    ['%25', []],
    ['re_', ['Rex', 'REX the Brave', 'Rexa']],
    ["o'brien", ["O'Brien \\ 100%"]],
    ['100% \\', ["O'Brien \\ 100%"]],
  ])(
    'finds the words of %j in any case, with or without accents, the last one as a beginning',
    async (q, found) => {
      await addAll([
        'REX the Brave',
        'Rex',
        'Rexa',
        'Zoë',
        'Zoe\u0308 Ångström',
        'БЕЛКА',
        'Smørre',
        'Straße 7',
        '小白狗',
        'שָׁלוֹם',
        "O'Brien \\ 100%",
        '🐶🐱',
      ]);
      expect(await namesFor(q)).toEqual(found);
    },
  );

  it.each([
    ['Bela', ['Bella', 'Bella']],
    ['Pella', ['Bella', 'Bella']],
    ['Blela', ['Bella', 'Bella']],
    ['Charly', ['Charlie the Old']],
    ['my Bela', ['Bella', 'Bella']],
    ['charly odl', ['Charlie the Old']],
    ['zzzzz', []],
    ['белла', ['Белка']],
  ])('finds similar names for %j if no name has it, the most similar ones first', async (q, found) => {
    await addAll(['Bella', 'Charlie the Old', 'Rex', 'Bella', 'Белка']);
    expect(await namesFor(q)).toEqual(found);
  });

  it('finds what an ordinary list of 2,000 names with the same rules has, over all pages', () =>
    expectModel(app, key, process.env['SEARCHES'] === 'full' ? 2_000 : 200));

  it('lists shared names by id, at most the first 1,000, also while others are added and removed', async () => {
    await addAll(Array.from({ length: 1_500 }, () => 'Bella'));
    const first = await search('bella', '&limit=100');
    await app.database.query('DELETE FROM pets WHERE id IN (50, 100)');
    await addAll(['Bella']);
    const second = await app.get(linksOf(first).next!, { key });
    expect(second.json.map(({ id }: Row) => id)).toEqual(Array.from({ length: 100 }, (_, at) => at + 101));
    const pages = await pagesOf('bella', '&limit=77');
    expect(pages.flat()).toHaveLength(1_000);
    expect(pages.slice(0, -1).every(({ length }) => length === 77)).toBe(true);
    const similar = await pagesOf('bela', '&limit=100');
    expect(similar.flat().map(({ id }) => id)).toEqual(pages.flat().map(({ id }) => id));
  });

  it.each(['ab฿cd', 'ሀ፡ለ', 'ཀ་ཁ', 'a\u1680b', 'a\u180eb', 'क॰ख'])(
    'continues after a page of names with the word %j, whose characters are not all letters',
    async (q) => {
      await addAll([q, q, q]);
      expect((await pagesOf(q, '&limit=1')).flat().map(({ name }) => name)).toEqual([q, q, q]);
    },
  );

  it('says that it is not complete if too many names have the word and too few the filter', async () => {
    await addAll(Array.from({ length: 3_000 }, () => 'Rex'));
    await app.database.query(`UPDATE pets SET status = 'available', category_id = 1`);
    await app.database.query(`UPDATE pets SET status = 'sold', category_id = 2 WHERE id = 2999`);
    const cut = await search('rex', '&status=sold');
    expect([cut.json, cut.headers['search-complete']]).toEqual([[], 'false']);
    const agent = await connectAgent(app, key);
    expect((await call(agent, 'searchPets', { q: 'rex', status: ['sold'] })).texts).toEqual([
      '[]',
      'Search-Complete: false. Add a word or a filter to find more.',
    ]);
    await agent.close();
    // A small category is looked at as a whole.
    const found = await search('rex', '&categoryId=2');
    expect([found.json.length, found.headers['search-complete']]).toEqual([1, undefined]);
    expect((await search('rex', '&status=available')).headers['search-complete']).toBeUndefined();
  });

  it('compares few long names, says so, and continues', async () => {
    await addAll(
      ['Rex', 'The'].flatMap((word) => Array.from({ length: 150 }, () => `${word} ${'é'.repeat(250)}`)),
    );
    const none = await search('rex the', '&limit=100');
    expect([none.json, none.headers['search-complete']]).toEqual([[], 'false']);
    const first = await search('rex', '&limit=100');
    expect(first.headers['search-complete']).toBe('false');
    const { json } = await app.get(linksOf(first).next!, { key });
    expect(json[0].id).toBe(first.json.length + 1);
    await app.database.query('UPDATE pets SET category_id = 9');
    const category = await search('rex the', '&categoryId=9');
    expect([category.json, category.headers['search-complete']]).toEqual([[], 'false']);
    await app.database.query(`UPDATE pets SET status = 'sold' WHERE id < 5`);
    await app.database.query(`UPDATE pets SET status = 'available' WHERE id >= 5`);
    expect((await pagesOf('rex', '&categoryId=9&status=sold&limit=3')).map(({ length }) => length)).toEqual([
      3, 1,
    ]);
  });

  it('finds a rare word in a small category with names too long to compare all of them', async () => {
    await addAll([...Array.from({ length: 200 }, () => 'é'.repeat(250)), 'Unique']);
    await app.database.query('UPDATE pets SET category_id = 1');
    const { json, headers } = await search('uniq', '&categoryId=1');
    expect([json.length, headers['search-complete']]).toEqual([1, undefined]);
  });

  it('compares letters beyond U+E000 as the index does, on each page and in a small category', async () => {
    const names = ['山', '山本', '山﨑', '山﨑太郎', '山𠮷'];
    await addAll(names);
    await app.database.query('UPDATE pets SET category_id = 1');
    const found = (await pagesOf('山', '&limit=1')).flat();
    expect(found.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
    expect((await pagesOf('山', '&limit=2&categoryId=1')).flat()).toEqual(found);
  });

  it('knows a name from its creation, its change, and no longer after its removal', async () => {
    const { json } = await app.post('/v1/pets', aNewPet({ name: 'Before Before' }), { key });
    expect(await namesFor('before')).toEqual(['Before Before']);
    await app.send('PATCH', `/v1/pets/${json.id}`, { key, body: { name: 'Later', status: 'sold' } });
    expect([await namesFor('before'), (await search('later')).json]).toEqual([
      [],
      [{ ...json, name: 'Later', status: 'sold' }],
    ]);
    await app.send('DELETE', `/v1/pets/${json.id}`, { key });
    expect(await namesFor('later')).toEqual([]);
    expect(await app.database.query('SELECT FROM pet_words')).toEqual([]);
  });

  it('serves each accepted name and query', async () => {
    const hostile = [
      'ﷺ'.repeat(255),
      '\u0301a'.repeat(100),
      '🐶'.repeat(255),
      'a'.repeat(255),
      '\u202Eabc',
      '\u200D\u200D',
      'a b '.repeat(60),
      '\uDBFF\uDFFF x',
      '%_\\',
    ];
    for (const name of hostile)
      expect(await app.post('/v1/pets', aNewPet({ name }), { key })).toMatchObject({ status: 201 });
    for (const q of [
      'ﷺ'.repeat(100),
      '\u0301a'.repeat(50),
      'a'.repeat(100),
      '\u202Eabc',
      'a b '.repeat(25),
      `${'x y '.repeat(24)}z`,
      '٣',
      'Ⅷ',
      '%a_\\|(',
    ]) {
      expect(await search(q)).toMatchObject({ status: 200 });
    }
    expect(await namesFor('صلى')).toHaveLength(1);
  });

  it.each(['', ' ', '%_\\', '🐶', '\u202E', 'a\u0000', 'x'.repeat(101), '🐶'.repeat(255)])(
    '400 for q = %j',
    async (q) => {
      expectError(await search(q), 400, 'validation_failed');
    },
  );

  it('400 for no q, and for a cursor of another search, and for one that no search returned', async () => {
    expectError(await app.get('/v1/pets/search'), 400, 'validation_failed');
    await addAll(['Rex', 'Rex', 'Rexa']);
    const next = linksOf(await search('rex', '&limit=1')).next!;
    const cursor = new URLSearchParams(next.split('?')[1]).get('cursor')!;
    const [place = ''] = Buffer.from(cursor, 'base64url').toString().split('@', 1);
    const forged = (text: string) =>
      Buffer.from(Buffer.from(cursor, 'base64url').toString().replace(place, text)).toString('base64url');
    for (const text of [
      '',
      '7',
      place.replace('rex', 'r\u0000'),
      place.replace('rex', 'r x'),
      `${place}|`,
      place.replace('1', '-7'),
    ])
      expectError(await search('rex', `&limit=1&cursor=${forged(text)}`), 400, 'invalid_cursor');
    expectError(await search('re', `&cursor=${cursor}`), 400, 'invalid_cursor');
    expect(await search('rex', `&cursor=${forged('999 99 999 0 zzz')}`)).toMatchObject({
      status: 200,
      json: [],
    });
  });

  it('503 for a search that waited for others longer than DATABASE_POOL_WAIT_MS', async () => {
    const busy = await startApp({ databasePoolSize: 4, databasePoolWaitMs: 30_000 }, { beside: app });
    const find = (q: string) => busy.get(`/v1/pets/search?q=${q}`, { key });
    holdMeasuredTime();
    await app.database.query('BEGIN; LOCK TABLE pet_words');
    const first = find('first');
    await until(async () => (await lockWaits(app.database)).length > 0);
    const second = find('second');
    await busy.get('/v1/pets', { key });
    pass({ seconds: 31 });
    await app.database.query('COMMIT');
    expect(await first).toMatchObject({ status: 200 });
    expectError(await second, 503, 'service_unavailable');
    expect(await find('second')).toMatchObject({ status: 200 });
    jest.useRealTimers();
    await busy.close();
  });

  it('finds animals during an update whose migration has added columns, also with names that the statements use', async () => {
    await app.post('/v1/pets', aNewPet({ name: 'Rex', categoryId: 7 }), { key });
    const names = ['word', 'size', 'bytes', 'text', 'pet_id'];
    await app.database.query(`ALTER TABLE pets ${names.map((name) => `ADD ${name} text`).join(', ')}`);
    expect(await namesFor('rex')).toEqual(['Rex']);
    expect(await namesFor('rex', '&categoryId=7')).toEqual(['Rex']);
    await app.database.query(`ALTER TABLE pets ${names.map((name) => `DROP ${name}`).join(', ')}`);
  });
});
