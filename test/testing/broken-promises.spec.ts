import { ApiSchema } from '@nestjs/swagger';
import { stringify } from 'lossless-json';
import { Decimal, Flag, Int64, ListOf, Nested, OneOf, SortedPageQuery, Text } from '../../src';
import { Int64List } from '../../src/platform/validation/fields';
import { PetsService } from '../../src/pets';
import { brokenPromises, startTestStore, type TestStore } from '../../src/testing';
import { extensionOf, migrationOf } from '../database/support/extensions';
import { holdMeasuredTime } from '../support/timers';
import { itemsExtension } from './support/items.extension';
import { NOTE, PLACES } from './support/items.parts';
import { BODY_MISTAKES } from './support/body-mistakes';
import { type Mistakes, STORED } from './support/mistake';
import { ACCESS_MISTAKES, DOCUMENT_MISTAKES, LIST_MISTAKES, RESPONSE_MISTAKES } from './support/mistakes';
import { OF_ACCOUNT, UNNOTICED_MISTAKES } from './support/unnoticed-mistakes';
import { TAG_MISTAKES } from './support/tag-mistakes';
import { sharedServer } from './support/shared-server';

const MISTAKES: Mistakes = {
  ...BODY_MISTAKES,
  ...RESPONSE_MISTAKES,
  ...TAG_MISTAKES,
  ...ACCESS_MISTAKES,
  ...DOCUMENT_MISTAKES,
  ...LIST_MISTAKES,
  ...UNNOTICED_MISTAKES,
};

const SIZES = { name: 'RichSize', description: 'Size of an item.', values: ['s', 'm'] };

@ApiSchema({ description: 'A place.' })
class Place {
  @Text({ max: 9, description: 'The row.', example: 'A' })
  readonly row!: string;
}

/** Lists of ids, with an example and without one. */
class RichQuery extends SortedPageQuery {
  @Int64List({ max: 3, optional: true, description: 'Only these items.', example: [7, 9] })
  readonly only?: readonly bigint[];

  @Int64List({ max: 100, optional: true, description: 'Without these items.' })
  readonly except?: readonly bigint[];
}

/** Fields of every other kind. */
const RICH_FIELDS = {
  most: [Int64({ optional: true, description: 'Highest weight.', example: 9223372036854775807n })],
  cents: [Int64({ min: 0, max: 9007199254740993n, optional: true, description: 'Price.', example: 250 })],
  size: [OneOf(SIZES, { optional: true, nullable: true, description: 'Size.', example: 's' })],
  price: [Decimal({ min: 0, max: 9.5, optional: true, description: 'Price.', example: 2.5 })],
  isQuiet: [Flag({ optional: true, nullable: true, description: 'True if it is quiet.', example: true })],
  place: [Nested(() => Place, { description: 'Its place.' })],
  others: [ListOf(() => Place, { max: 3, optional: true, description: 'Other places.' })],
};

/** Doubles, also beyond the integers that a double holds exactly. */
const DECIMALS = Object.fromEntries(
  [1000, 1e17, 2 ** 63, 1e19, 1e30].map((max, at) => [
    `dose${at}`,
    [Decimal({ min: 0, max, optional: true, description: 'Dose.', example: 2.5 })],
  ]),
);

describe('brokenPromises', () => {
  // A busy machine, or a network without name servers, must not make an operation slow. Hooks of each part measure it.
  beforeEach(holdMeasuredTime);
  afterEach(() => void jest.useRealTimers());

  it('is empty for the store and correct extensions', async () => {
    const ofAnyKey = { scope: 'any key', untagged: true } as const;
    const created = new Map<bigint, object>();
    const extensions = [
      itemsExtension('rich-items', { body: { ...NOTE, ...PLACES, ...RICH_FIELDS }, queryType: RichQuery }),
      itemsExtension('decimal-items', {
        handlers: ['create', 'get'],
        body: DECIMALS,
        item: DECIMALS,
        async create(body, _reply, transaction) {
          const row = { ...body, ...(await this.insert(body, transaction)) };
          created.set(row.id, row);
          return row;
        },
        async get(id) {
          const row = created.get(id);
          if (!row) throw this.facts.unknown();
          return row;
        },
      }),
      itemsExtension('any-key-items', {
        ...STORED,
        handlers: ['list'],
        facts: { list: ofAnyKey },
        // Then `types: null` of a webhook stands for a list.
        hasEvents: true,
      }),
    ];
    const store = await startTestStore({ extensions, server: sharedServer });
    try {
      expect(await brokenPromises(store)).toEqual([]);
      expect(store.log.filter((line) => line.includes('"level":50'))).toEqual([]);
    } finally {
      await store.close();
    }
  });

  it('does not take events of an account of the tests for those of another account', async () => {
    const name = 'own-event-items';
    const items = itemsExtension(name, {
      ...OF_ACCOUNT,
      handlers: ['list', 'create', 'get'],
      hasEvents: true,
      async create(body, reply, transaction) {
        const row = await OF_ACCOUNT.create?.call(this, body, reply, transaction);
        const event = [reply.request.principal.accountId, `${name}.created`, stringify(row)];
        await this.sql.rows('SELECT record_event($1, $2, $3)', event, transaction);
        return row;
      },
    });
    const store = await startTestStore({ extensions: [items], server: sharedServer });
    try {
      const key = await store.key({ account: 'first' });
      await store.fetch(`/v1/${name}`, { method: 'POST', key, body: { name: 'North', weight: 5 } });
      const sentences = await brokenPromises(store, { paths: [`/${name}`] });
      expect(sentences.filter((each) => each.startsWith('The event'))).toEqual([]);
    } finally {
      await store.close();
    }
  });

  describe('on a store without extensions', () => {
    let store: TestStore;
    beforeAll(async () => {
      store = await startTestStore({ server: sharedServer });
    });
    afterAll(() => store.close());

    it('names each path without an operation', async () => {
      expect(await brokenPromises(store, { paths: ['/store/inventory', '/pet'] })).toEqual([
        'No operation of the store is below the path /pet.',
      ]);
    });

    it.each([
      [
        'that fails',
        'DROP TABLE wrnog',
        /^The "down" of a migration fails\. The "down" of the .* \(table "wrnog" does not exist\)/,
      ],
      [
        'that leaves something',
        'DROP TABLE wrong',
        /^The "down" of a migration does not take back .*\(type "size" already exists\)/,
      ],
      ['that leaves a table', 'DROP TYPE size', /^The "down" of a migration leaves wrong[.]/],
    ])('names paths without an operation, and a "down" %s', async (_what, down, sentence) => {
      const up = `CREATE TYPE size AS ENUM ('s'); CREATE TABLE wrong (id int)`;
      const extensions = [extensionOf('wrong', migrationOf('Wrong1795300000009', up, down))];
      expect(await brokenPromises({ ...store, extensions }, { paths: ['/wrong'] })).toEqual([
        'No operation of the store is below the path /wrong.',
        expect.stringMatching(sentence),
      ]);
    });

    it('names a batch that changes a value, or creates outside its transaction', async () => {
      const pets = store.app.get(PetsService, { strict: false });
      const createAll = pets.createAll.bind(pets);
      jest
        .spyOn(pets, 'createAll')
        .mockImplementation((all) =>
          createAll(all.map((pet) => Object.assign(pet, { name: pet.name.trim() }))),
        );
      expect(await brokenPromises(store, { paths: ['/pets/batch'] })).toEqual([
        expect.stringMatching('POST /v1/pets/batch responds with items.0.name = Žofie'),
        expect.stringMatching('POST /v1/pets/batch keeps what it created although its transaction'),
      ]);
    });
  });

  // A start takes longer than the checks of an extension.
  describe('names each mistake of a store:', () => {
    const mistakes = Object.entries(MISTAKES);
    let sentences: readonly string[];
    beforeAll(async () => {
      const extensions = mistakes.map((mistake) => itemsExtension(...mistake));
      const store = await startTestStore({ extensions, server: sharedServer });
      try {
        sentences = await brokenPromises(store, { paths: mistakes.map(([name]) => `/${name}`) });
      } finally {
        await store.close();
      }
    });

    it.each(mistakes)('%s', (name, { sentence }) => {
      const own = sentences.filter((each) => each.includes(name) || each.includes(name.replaceAll('-', '_')));
      expect(own).toContainEqual(expect.stringMatching(sentence));
    });
  });
});
