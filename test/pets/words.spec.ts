import * as fc from 'fast-check';
import { PET_STATUSES } from '../../src/pets';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { linksOf } from '../support/links';

interface Row {
  readonly id: number;
  readonly name: string;
  readonly categoryId: number;
  readonly status: string;
}

/** Words of seven scripts. */
const WORDS =
  'Bella bëlla BELLE Rex Řex Max Øre Straße STRASSE Белка белка Ёжик σοφός ΣΟΦΟΣ 小白 がく ガク हिन्दी שָׁלוֹם مُحَمَّد b B2 the o'.split(
    ' ',
  );

/** Makes the words of a text by the rules of the filter. */
const wordsOf = (text: string) =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[\u0300-\u036f\u0591-\u05c7\u064b-\u065f]/g, '')
    .replaceAll(/[\u3041-\u3096]/g, (kana) => String.fromCodePoint(kana.codePointAt(0)! + 0x60))
    .replaceAll('ß', 'ss')
    .replaceAll('ø', 'o')
    .replaceAll('ς', 'σ')
    .normalize('NFC')
    .split(/[^\p{L}\p{N}\u0900-\u097f\u3099]+/u)
    .filter(Boolean);

const IRISH = "O'Brien \\ 100%";
const REXES = ['Rex', 'REX the Brave', 'Rexa'];

/** The names that a text finds. No other name of the table has its words. */
const FOUND: readonly [q: string, ...names: string[]][] = [
  ['rex', ...REXES],
  ['re', ...REXES],
  ['re_', ...REXES],
  ['BRAVE rex', 'REX the Brave'],
  ['rex brav', 'REX the Brave'],
  ['brav rex'],
  ['r'],
  ['zoe', 'Zoë', 'Zoe\u0308 Ångström'],
  ['angstrom ZOË', 'Zoe\u0308 Ångström'],
  ['бел', 'БЕЛКА'],
  ['smorre', 'Smørre'],
  ['strasse', 'Straße 7'],
  ['7', 'Straße 7'],
  ['小'],
  ['小白', '小白狗'],
  ['白'],
  ['שלום', 'שָׁלוֹם'],
  ["o'brien", IRISH],
  ['oʼbrien', IRISH],
  ['100% \\', IRISH],
  ['%25'],
  ['كوچولو', 'کوچولو'],
  ['علي', 'علی'],
  ['みけねこ', 'ミケネコ'],
  ['ﾐｹﾈｺ', 'ミケネコ'],
  ['ＦＵＬＬ', 'full'],
  ['м’яч', 'мʼяч'],
];

describe('q of GET /v1/pets (listPets)', () => {
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
  const find = (q: string, query = '') => app.get(`/v1/pets?q=${encodeURIComponent(q)}${query}`, { key });
  const namesFor = async (q: string) => (await find(q)).json.map(({ name }: Row) => name) as string[];

  it('finds all words in any case, with or without accents, the last one as a beginning of two characters', async () => {
    const names = new Set(FOUND.flatMap(([, ...found]) => found));
    await addAll([...names, '🐶🐱']);
    for (const [q, ...found] of FOUND) expect([q, new Set(await namesFor(q))]).toEqual([q, new Set(found)]);
  });

  it('combines with every other filter, both orders and the cursor: the pages are those of a model', async () => {
    const words = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 3 });
    const [names = []] = fc.sample(fc.array(words, { minLength: 400, maxLength: 400 }), {
      numRuns: 1,
      seed: 7,
    });
    const all = names.map((each) => each.join(' - '));
    // A page that the next three blocks of 16,384 ids fill needs no others: ids within blocks, at their ends, and far away.
    for (const [at, first] of [-9e15, -40, 16_350, 49_100, 9e12].entries()) {
      await app.database.query(
        `ALTER TABLE pets ALTER id SET MINVALUE -9000000000000000 RESTART WITH ${first}`,
      );
      await addAll(all.slice(at * 80, (at + 1) * 80));
    }
    const rows = await app.database.query<Row>(
      `SELECT id::float8, name, category_id::float8 AS "categoryId", status FROM pets ORDER BY id`,
    );
    const request = fc.record({
      words,
      length: fc.constantFrom(1, 2, 3, 99),
      categoryId: fc.option(fc.integer({ min: 1, max: 4 })),
      status: fc.subarray([...PET_STATUSES]),
      id: fc.oneof(
        { weight: 3, arbitrary: fc.constant<number[]>([]) },
        fc.array(fc.constantFrom(...rows.map(({ id }) => id), 20_000), { maxLength: 90 }),
      ),
      sort: fc.constantFrom('id', '-id'),
      limit: fc.constantFrom(1, 2, 3, 20, 100),
    });
    const property = fc.asyncProperty(request, async (given) => {
      const [full = '', ...others] = given.words.flatMap(wordsOf).slice(0, 3).toReversed();
      const last = Array.from(full).slice(0, given.length).join('');
      const isBeginning = Array.from(last).length > 1;
      const wanted = rows
        .filter(({ categoryId }) => given.categoryId === null || categoryId === given.categoryId)
        .filter(({ status }) => given.status.length === 0 || given.status.some((each) => each === status))
        .filter(({ id }) => given.id.length === 0 || given.id.includes(id))
        .filter(({ name }) => others.every((word) => wordsOf(name).includes(word)))
        .filter(({ name }) =>
          wordsOf(name).some((word) => (isBeginning ? word.startsWith(last) : word === last)),
        );
      const query = new URLSearchParams({
        q: [...others, last].join(' '),
        limit: String(given.limit),
        sort: given.sort,
      });
      if (given.categoryId !== null) query.set('categoryId', String(given.categoryId));
      for (const status of given.status) query.append('status', status);
      for (const id of given.id) query.append('id', String(id));
      const found: Row[] = [];
      for (let next: string | undefined = `/v1/pets?${query.toString()}`; next !== undefined;) {
        const page = await app.get(next, { key });
        found.push(...page.json);
        next = linksOf(page)['next'];
      }
      expect(found).toEqual(given.sort === 'id' ? wanted : wanted.toReversed());
    });
    await fc.assert(property, { numRuns: 60 });
  });

  it('knows a name from its creation, its change, and no longer after its removal', async () => {
    const { json } = await app.post('/v1/pets', aNewPet({ name: 'Before Before' }), { key });
    expect(await namesFor('before')).toEqual(['Before Before']);
    await app.send('PATCH', `/v1/pets/${json.id}`, { key, body: { name: 'Later', status: 'sold' } });
    expect(await namesFor('before')).toEqual([]);
    expect((await find('later')).json).toEqual([{ ...json, name: 'Later', status: 'sold' }]);
    await app.send('DELETE', `/v1/pets/${json.id}`, { key });
    expect(await namesFor('later')).toEqual([]);
  });

  it('serves each accepted name and text, and 400 any other text', async () => {
    const names = [
      'ﷺ'.repeat(255),
      '\u0301a'.repeat(100),
      '🐶'.repeat(255),
      '\u200D\u200D',
      '\uDBFF\uDFFF x',
      '𝔸'.repeat(255),
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
    for (const q of [...accepted, "%a_\\|('!&<->:*"]) expect([q, (await find(q)).status]).toEqual([q, 200]);
    expect(await namesFor('صلى')).toHaveLength(1);
    for (const q of ['', ' ', '%_\\', '🐶', '\u202E', 'a\u0000', 'x'.repeat(101), '🐶'.repeat(255)])
      expectError(await find(q), 400, 'validation_failed');
  });
});
