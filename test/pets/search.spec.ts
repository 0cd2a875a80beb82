import { PET_STATUSES } from '../../src/pets';
import { call, connectAgent } from '../mcp/support';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { linksOf } from '../support/links';
import { holdMeasuredTime, pass } from '../support/timers';

interface Row {
  readonly id: number;
  readonly name: string;
  readonly categoryId: number;
  readonly status: string;
}

/** Words of six scripts. */
const WORDS =
  'Bella bëlla BELLE Rex Řex Max Øre Straße STRASSE Белка белка Ёжик σοφός ΣΟΦΟΣ 小白 がく हिन्दी שָׁלוֹם مُحَمَّد b B2 the o'.split(
    ' ',
  );

/** Makes the words of a text by the rules of the search. */
const wordsOf = (text: string) =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[\u0300-\u036f\u0591-\u05c7\u064b-\u065f]/g, '')
    .replaceAll('ß', 'ss')
    .replaceAll('ø', 'o')
    .replaceAll('ς', 'σ')
    .normalize('NFC')
    .split(/[^\p{L}\p{N}\u0900-\u097f\u3099]+/u)
    .filter(Boolean);

describe('GET /v1/pets/search (searchPets)', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await startApp();
    key = await app.unlimitedKey();
  });
  beforeEach(() => app.database.truncate('pets RESTART IDENTITY CASCADE'));
  afterAll(() => app.close());

  /** Adds animals with these names, of three categories and statuses. */
  const addAll = (names: readonly string[]) =>
    app.database.query(
      `INSERT INTO pets (name, category_id, status)
       SELECT name, 1 + n % 3, ($2::text[])[1 + n % 3] FROM unnest($1::text[]) WITH ORDINALITY AS added (name, n)`,
      [names, PET_STATUSES],
    );
  const many = (count: number, name: string) => Array.from({ length: count }, () => name);
  const search = (q: string, query = '') =>
    app.get(`/v1/pets/search?q=${encodeURIComponent(q)}${query}`, { key });
  const namesFor = async (q: string) => (await search(q)).json.map(({ name }: Row) => name) as string[];
  const completeness = async (q: string, query: string) => {
    const { json, headers } = await search(q, query);
    return [json.length, headers['search-complete']];
  };
  /** Reads all pages of a complete search. */
  const pagesOf = async (q: string, query: string) => {
    const pages: Row[][] = [];
    for (let next: string | undefined = `/v1/pets/search?q=${encodeURIComponent(q)}${query}`; next;) {
      const page = await app.get(next, { key });
      pages.push(page.json);
      expect([page.status, page.headers['search-complete']]).toEqual([200, undefined]);
      next = linksOf(page)['next'];
    }
    return pages;
  };

  it('finds all words in any case, with or without accents, the last one as a beginning', async () => {
    const rexes = ['Rex', 'REX the Brave', 'Rexa'];
    const angstrom = 'Zoe\u0308 Ångström';
    const irish = "O'Brien \\ 100%";
    await addAll([
      ...rexes.toReversed(),
      'Zoë',
      angstrom,
      'БЕЛКА',
      'Smørre',
      'Straße 7',
      '小白狗',
      'שָׁלוֹם',
      irish,
      '🐶🐱',
    ]);
    const found = {
      rex: rexes,
      re: rexes,
      'BRAVE rex': ['REX the Brave'],
      zoe: ['Zoë', angstrom],
      'angstrom ZOË': [angstrom],
      бел: ['БЕЛКА'],
      smorre: ['Smørre'],
      strasse: ['Straße 7'],
      '7': ['Straße 7'],
      小: ['小白狗'],
      שלום: ['שָׁלוֹם'],
      '%25': [],
      re_: rexes,
      "o'brien": [irish],
      '100% \\': [irish],
    };
    for (const [q, names] of Object.entries(found)) expect([q, await namesFor(q)]).toEqual([q, names]);
  });

  it('finds similar names if no name has the words, the most similar ones first', async () => {
    await addAll(['Bella', 'Charlie the Old', 'Rex', 'Sharly', 'Bella', 'Белка']);
    const bellas = ['Bella', 'Bella'];
    const charlie = ['Charlie the Old'];
    const found = {
      Bela: bellas,
      Pella: bellas,
      Blela: bellas,
      Charly: ['Sharly', ...charlie],
      'my Bela': bellas,
      'charly odl': charlie,
      zzzzz: [],
      белла: ['Белка'],
    };
    for (const [q, names] of Object.entries(found)) expect([q, await namesFor(q)]).toEqual([q, names]);
  });

  it('finds what an ordinary list of 600 names with the same rules has, over all pages', async () => {
    let seed = 7;
    const pick = (count: number) => (seed = (seed * 48_271) % 2_147_483_647) % count;
    const some = () => Array.from({ length: 1 + pick(3) }, () => WORDS[pick(WORDS.length)]).join(' - ');
    await addAll(Array.from({ length: 600 }, some));
    const rows = await app.database.query<Row>(
      'SELECT id::float8, name, category_id::float8 AS "categoryId", status FROM pets ORDER BY id',
    );
    for (let at = 0; at < 60; at += 1) {
      const [full = '', ...words] = wordsOf(some()).slice(0, 2).toReversed();
      const last = at % 2 === 0 ? full.slice(0, 2) : full;
      const filter = ['', '&categoryId=2', '&status=sold&status=pending'][at % 3]!;
      const wanted = rows
        .filter(({ categoryId }) => at % 3 !== 1 || categoryId === 2)
        .filter(({ status }) => at % 3 !== 2 || status !== 'available')
        .map(({ id, name }) => ({ id, own: wordsOf(name) }))
        .filter(({ own }) => words.every((word) => own.includes(word)))
        .filter(({ own }) => own.some((word) => word.startsWith(last)));
      // Then it finds similar names.
      if (wanted.length === 0) continue;
      const q = [...words, last].join(' ');
      const ids = (await pagesOf(q, `${filter}&limit=100`)).flat().map(({ id }) => id);
      const sorted = ids.toSorted((one, other) => one - other);
      expect([q, filter, sorted]).toEqual([q, filter, wanted.map(({ id }) => id)]);
    }
  });

  it('lists shared names by id, at most the first 1,000, also while others are added and removed', async () => {
    await addAll(many(1_100, 'Bella'));
    const first = await search('bella', '&limit=100');
    await app.database.query('DELETE FROM pets WHERE id IN (50, 100)');
    await addAll(['Bella']);
    const second = await app.get(linksOf(first)['next']!, { key });
    expect(second.json.map(({ id }: Row) => id)).toEqual(Array.from({ length: 100 }, (_, at) => at + 101));
    for (const q of ['bella', 'bela']) expect((await pagesOf(q, '&limit=90')).flat()).toHaveLength(1_000);
  });

  it('continues after words whose characters are not all letters, and beyond U+E000 in the order of the index', async () => {
    for (const q of ['ab฿cd', 'ሀ፡ለ', 'ཀ་ཁ', 'a\u1680b', 'a\u180eb', 'क॰ख']) {
      await app.database.truncate('pets CASCADE');
      await addAll([q, q, q]);
      expect((await pagesOf(q, '&limit=1')).flat().map(({ name }) => name)).toEqual([q, q, q]);
    }
    const names = ['山', '山本', '山﨑', '山﨑太郎', '山𠮷'];
    await addAll(names);
    await app.database.query('UPDATE pets SET category_id = 1');
    const found = (await pagesOf('山', '&limit=1')).flat();
    expect(found.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
    expect((await pagesOf('山', '&limit=2&categoryId=1')).flat()).toEqual(found);
  });

  it('says that it is not complete if too many names have the word and too few the filter', async () => {
    await addAll(many(900, 'Rex'));
    await app.database.query(`UPDATE pets SET status = 'available', category_id = 1`);
    await app.database.query(`UPDATE pets SET status = 'sold', category_id = 2 WHERE id = 899`);
    expect(await completeness('rex', '&status=sold')).toEqual([0, 'false']);
    const agent = await connectAgent(app, key);
    expect((await call(agent, 'searchPets', { q: 'rex', status: ['sold'] })).texts).toEqual([
      '[]',
      'Search-Complete: false. Add a word or a filter to find more.',
    ]);
    await agent.close();
    // A small category is looked at as a whole.
    expect(await completeness('rex', '&categoryId=2')).toEqual([1, undefined]);
    expect(await completeness('rex', '&status=available')).toEqual([20, undefined]);
  });

  it('compares few long names, says so, and continues', async () => {
    const long = 'é'.repeat(250);
    await addAll([...many(150, `Rex ${long}`), ...many(150, `The ${long}`), 'Unique']);
    expect(await completeness('rex the', '&limit=100')).toEqual([0, 'false']);
    const first = await search('rex', '&limit=100');
    expect(first.headers['search-complete']).toBe('false');
    const { json } = await app.get(linksOf(first)['next']!, { key });
    expect(json[0].id).toBe(first.json.length + 1);
    await app.database.query(
      `UPDATE pets SET category_id = 9, status = CASE WHEN id < 5 THEN 'sold' ELSE 'available' END`,
    );
    expect(await completeness('rex the', '&categoryId=9')).toEqual([0, 'false']);
    const sizes = (await pagesOf('rex', '&categoryId=9&status=sold&limit=3')).map(({ length }) => length);
    expect(sizes).toEqual([3, 1]);
    expect(await completeness('uniq', '&categoryId=9')).toEqual([1, undefined]);
  });

  it('knows a name from its creation, its change, and no longer after its removal', async () => {
    const { json } = await app.post('/v1/pets', aNewPet({ name: 'Before Before' }), { key });
    expect(await namesFor('before')).toEqual(['Before Before']);
    await app.send('PATCH', `/v1/pets/${json.id}`, { key, body: { name: 'Later', status: 'sold' } });
    expect(await namesFor('before')).toEqual([]);
    expect((await search('later')).json).toEqual([{ ...json, name: 'Later', status: 'sold' }]);
    await app.send('DELETE', `/v1/pets/${json.id}`, { key });
    expect(await namesFor('later')).toEqual([]);
    expect(await app.database.query('SELECT FROM pet_words')).toEqual([]);
  });

  it('serves each accepted name and query, and 400 any other query', async () => {
    const names = [
      'ﷺ'.repeat(255),
      '\u0301a'.repeat(100),
      '🐶'.repeat(255),
      '\u200D\u200D',
      '\uDBFF\uDFFF x',
    ];
    for (const name of names)
      expect((await app.post('/v1/pets', aNewPet({ name }), { key })).status).toBe(201);
    const accepted = [
      'ﷺ'.repeat(100),
      '\u0301a'.repeat(50),
      'a b '.repeat(25),
      `${'x y '.repeat(24)}z`,
      '\u202Ea',
      '٣',
      'Ⅷ',
    ];
    for (const q of [...accepted, '%a_\\|(']) expect((await search(q)).status).toBe(200);
    expect(await namesFor('صلى')).toHaveLength(1);
    for (const q of ['', ' ', '%_\\', '🐶', '\u202E', 'a\u0000', 'x'.repeat(101), '🐶'.repeat(255)])
      expectError(await search(q), 400, 'validation_failed');
    expectError(await app.get('/v1/pets/search', { key }), 400, 'validation_failed');
  });

  it('400 for a cursor that no search returned', async () => {
    await addAll(['Rex', 'Rex', 'Rexa']);
    const { next } = linksOf(await search('rex', '&limit=1'));
    const cursor = Buffer.from(new URL(next!, app.url).searchParams.get('cursor')!, 'base64url').toString();
    const [place = ''] = cursor.split('@', 1);
    const forged = (text: string) =>
      search('rex', `&limit=1&cursor=${Buffer.from(cursor.replace(place, text)).toString('base64url')}`);
    for (const text of ['r\u0000', 'r x'].map((word) => place.replace('rex', word)))
      expectError(await forged(text), 400, 'invalid_cursor');
    for (const text of [`${place}|`, place.replace('1', '-7')])
      expectError(await forged(text), 400, 'invalid_cursor');
    expect(await forged('999 99 999 0 zzz')).toMatchObject({ status: 200, json: [] });
  });

  it('503 for a search that waited for others longer than DATABASE_POOL_WAIT_MS', async () => {
    const busy = await startApp({ databasePoolSize: 4, databasePoolWaitMs: 30_000 }, { beside: app });
    const list = () => busy.get('/v1/pets', { key });
    await list();
    holdMeasuredTime();
    await app.database.query('BEGIN; LOCK TABLE pet_words');
    const searches = ['one', 'two'].map((q) => busy.get(`/v1/pets/search?q=${q}`, { key }));
    // Both have arrived before this request.
    await list();
    pass({ seconds: 31 });
    await app.database.query('COMMIT');
    const statuses = (await Promise.all(searches)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    expect((await busy.get('/v1/pets/search?q=two', { key })).status).toBe(200);
    jest.useRealTimers();
    await busy.close();
  });

  it('finds animals during an update whose migration has added columns, also with names that the statements use', async () => {
    await app.post('/v1/pets', aNewPet({ name: 'Rex', categoryId: 7 }), { key });
    const names = ['word', 'size', 'bytes', 'text', 'pet_id'];
    await app.database.query(`ALTER TABLE pets ${names.map((name) => `ADD ${name} text`).join(', ')}`);
    for (const filter of ['', '&categoryId=7']) expect((await search('rex', filter)).json).toHaveLength(1);
    await app.database.query(`ALTER TABLE pets ${names.map((name) => `DROP ${name}`).join(', ')}`);
  });
});
