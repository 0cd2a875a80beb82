import { Controller, Get, Module, Query } from '@nestjs/common';
import { ApiSchema } from '@nestjs/swagger';
import type { Extension } from '../../src';
import { CurrentPrincipal, Int64, Integer, OneOf, Operation, pages, type Principal, Sql } from '../../src';
import { userMessage } from '../../src/app/user-message';
import { migrationOf } from '../database/support/extensions';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { linksOf } from '../support/links';
import { followPages, idsOf } from '../support/paging.contract';

const COLOURS = { name: 'ToyColour', description: 'Colour of a toy.', values: ['red', 'blue'] };

@ApiSchema({ description: 'A toy.' })
class Toy {
  @Int64({ description: 'Identifier of the toy.', example: 1 })
  readonly id!: bigint;

  @OneOf(COLOURS, { description: 'Its colour.', example: 'red' })
  readonly colour!: string;

  @Integer({ min: 1, max: 9, description: 'Its size.', example: 2 })
  readonly size!: number;
}

const TABLE = {
  table: 'toys',
  columns: 'id, colour, size',
  read: ([id, colour, size]: [bigint, string, number]): Toy => ({ id, colour, size }),
  type: Toy,
};
const toys = pages(TABLE, { always: ['account_id'], filters: { colour: 'colour', size: 'size' } });
/** Its table does not exist yet, so that the start requires none of its indexes. */
pages({ ...TABLE, table: 'toys_of_tomorrow' }, { filters: { colour: 'colour' } });

class ListToysQuery extends toys.Query {}

@Controller({ path: 'toys', version: '1' })
class ToysController {
  constructor(private readonly sql: Sql) {}

  @Get()
  @Operation({
    id: 'listToys',
    summary: 'List toys',
    description: 'Lists the toys of the account.',
    scope: 'pets:read',
    returns: [200, [Toy], 'A page of toys.'],
  })
  list(@Query() query: ListToysQuery, @CurrentPrincipal() { accountId }: Principal) {
    return toys.list(this.sql, query, { account_id: accountId });
  }
}

@Module({ controllers: [ToysController] })
class ToysModule {}

const INDEXES = [
  'CREATE INDEX toys_account ON toys (account_id, id)',
  'CREATE INDEX toys_colour ON toys (account_id NULLS FIRST, colour, id)',
  'CREATE INDEX toys_size ON toys (account_id NULLS FIRST, size, id)',
  'CREATE INDEX toys_colour_size ON toys (account_id NULLS FIRST, colour, size, id)',
];
const TOYS = `CREATE TABLE toys (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account_id bigint, colour text, size integer)`;
const CreateToys = migrationOf('Toys1795300000020', [TOYS, ...INDEXES].join('; '), 'DROP TABLE toys');
const extension: Extension = { name: 'toys', modules: [ToysModule], migrations: [CreateToys] };

/** The toys of two accounts in turn. */
const FILL = `
  INSERT INTO toys (account_id, colour, size)
  SELECT accounts.id, (ARRAY['red', 'blue'])[1 + n % 2], 1 + n % 3
  FROM generate_series(1, 24) AS n, accounts WHERE name IN ('one', 'other') ORDER BY n`;

describe('a list that a module declares', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await startApp({}, { extensions: [extension] });
    ({ key } = await app.createKey({ account: 'one' }));
    await app.createKey({ account: 'other' });
    await app.database.query(FILL);
  });
  afterAll(() => app.close());

  const get = (path: string) => app.get(path, { key });
  const storedIds = async (condition: string) => {
    const ofAccount = "account_id = (SELECT id FROM accounts WHERE name = 'one')";
    const rows = await app.database.query(
      `SELECT id FROM toys WHERE ${ofAccount} AND ${condition} ORDER BY id`,
    );
    return rows.map(({ id }) => Number(id));
  };

  it.each([
    ['', 'true'],
    ['colour=red', `colour = 'red'`],
    ['size=2', 'size = 2'],
    ['size=2&colour=blue', `size = 2 AND colour = 'blue'`],
    ['size=9', 'false'],
  ])(
    'has the rows of its account for "%s" in both orders, also on later pages',
    async (filter, condition) => {
      const ids = await storedIds(condition);
      for (const [sort, wanted] of [
        ['id', ids],
        ['-id', ids.toReversed()],
      ] as const) {
        const found = await followPages(app, key, `/v1/toys?limit=3&sort=${sort}&${filter}`);
        expect(found).toEqual(wanted);
      }
    },
  );

  it('validates its filters as the fields of the rows', async () => {
    expectError(await get('/v1/toys?colour=green'), 400, 'validation_failed');
    expectError(await get('/v1/toys?size=10'), 400, 'validation_failed');
    const { parameters } = (await get('/openapi.json')).json.paths['/toys'].get;
    expect(parameters).toContainEqual(
      expect.objectContaining({
        name: 'size',
        required: false,
        description: 'Only items with this `size`. Its size.',
        schema: { type: 'integer', format: 'int32', minimum: 1, maximum: 9 },
      }),
    );
  });

  it('rejects the cursor of another filter, order or list', async () => {
    const cursorOf = async (path: string) => {
      const { next } = linksOf(await get(path));
      return new URL(next!, app.url).searchParams.get('cursor');
    };
    const cursor = await cursorOf('/v1/toys?limit=1');
    expect(idsOf(await get(`/v1/toys?cursor=${cursor}`))).toEqual((await storedIds('true')).slice(1, 21));
    for (const path of ['/v1/toys?colour=red&', '/v1/toys?sort=-id&', '/v1/pets?'])
      expectError(await get(`${path}cursor=${cursor}`), 400, 'invalid_cursor');
  });

  it('throws if a handler does not give the value of a column that every page needs', () => {
    expect(() => toys.select(new ListToysQuery())).toThrow('the list of toys needs account_id');
  });

  it.each([
    ['is missing', []],
    ['is partial', ['CREATE INDEX toys_size ON toys (account_id NULLS FIRST, size, id) WHERE size > 0']],
    ['has NULLS LAST', ['CREATE INDEX toys_size ON toys (account_id, size, id)']],
    ['has another order of columns', ['CREATE INDEX toys_size ON toys (size NULLS FIRST, account_id, id)']],
  ])('the start fails if its index %s, and has the statement that creates it', async (_what, others) => {
    await app.database.query(['DROP INDEX toys_colour, toys_size', ...others].join('; '));
    const started = startApp({}, { beside: app, modules: [ToysModule] });
    const message = await started.then(() => 'started', userMessage);
    await app.database.query(`DROP INDEX IF EXISTS toys_size; ${INDEXES[1]}; ${INDEXES[2]}`);
    expect(message).toBe(
      'A list lacks an index, without which its pages are slow: add CREATE INDEX ON toys (account_id NULLS FIRST, colour, id); CREATE INDEX ON toys (account_id NULLS FIRST, size, id) to a migration.',
    );
  });
});
