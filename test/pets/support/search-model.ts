import type { TestApp } from '../../support/app';
import { linksOf } from '../../support/links';
import { PET_STATUSES } from '../../../src/pets';

/** Words of six scripts. */
const WORDS =
  'Bella bëlla BELLE Rex Řex Max Øre Straße STRASSE Белка белка Ёжик σοφός ΣΟΦΟΣ 小白 がく हिन्दी שָׁלוֹם مُحَمَّد b B2 the o'.split(
    ' ',
  );
const NAMES = 2_000;
const AT_ONCE = 10;

export interface Row {
  readonly id: number;
  readonly name: string;
  readonly categoryId: number;
  readonly status: string;
}

/** Adds animals with these names, of three categories and statuses. */
export const addAll = (app: TestApp, names: readonly string[]) =>
  app.database.query(
    `INSERT INTO pets (name, category_id, status)
     SELECT name, 1 + n % 3, ($2::text[])[1 + n % 3] FROM unnest($1::text[]) WITH ORDINALITY AS added (name, n)`,
    [names, PET_STATUSES],
  );

/** Reads all pages of a complete search. */
export async function pagesOf(app: TestApp, key: string, q: string, query: string): Promise<Row[][]> {
  const pages: Row[][] = [];
  for (let next: string | undefined = `/v1/pets/search?q=${encodeURIComponent(q)}${query}`; next;) {
    const page = await app.get(next, { key });
    pages.push(page.json);
    expect([page.status, page.headers['search-complete']]).toEqual([200, undefined]);
    next = linksOf(page)['next'];
  }
  return pages;
}

/** Makes the words of a text by the same rules. */
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

/** Expects searches for random words to find what a list of random names has, each animal once, over all pages. */
export async function expectModel(app: TestApp, key: string, searches: number): Promise<void> {
  let seed = 7;
  const pick = (count: number) => (seed = (seed * 48_271) % 2_147_483_647) % count;
  const some = () => Array.from({ length: 1 + pick(3) }, () => WORDS[pick(WORDS.length)]).join(' - ');
  await addAll(app, Array.from({ length: NAMES }, some));
  const rows = await app.database.query<Row>(
    'SELECT id::float8, name, category_id::float8 AS "categoryId", status FROM pets ORDER BY id',
  );
  const named = rows.map((row) => ({ ...row, words: wordsOf(row.name) }));
  const expectSearch = async (at: number, [last = '', ...words]: readonly string[]) => {
    const filter = ['', '&categoryId=2', '&status=sold&status=pending'][at % 3]!;
    const wanted = named
      .filter(({ categoryId }) => at % 3 !== 1 || categoryId === 2)
      .filter(({ status }) => at % 3 !== 2 || status !== 'available')
      .filter(({ words: own }) => words.every((word) => own.includes(word)))
      .filter(({ words: own }) => own.some((word) => word.startsWith(last)))
      .map(({ id }) => id);
    const pages = await pagesOf(app, key, [...words, last].join(' '), `${filter}&limit=100`);
    const ids = pages.flat().map(({ id }) => id);
    const found = ids.toSorted((one, other) => one - other);
    expect([words, last, found]).toEqual([words, last, wanted.slice(0, 1_000)]);
  };
  for (let at = 0; at < searches; at += AT_ONCE) {
    const group = Array.from({ length: AT_ONCE }, (_, number) => {
      const [last = '', ...words] = wordsOf(some()).slice(0, 2).toReversed();
      return expectSearch(at + number, [number % 2 === 0 ? last.slice(0, 2) : last, ...words]);
    });
    await Promise.all(group);
  }
}
