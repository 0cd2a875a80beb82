import {
  Body,
  Controller,
  type ExecutionContext,
  Get,
  Header,
  Module,
  Post,
  Query,
  UseGuards,
} from '@nestjs/common';
import { ApiSchema, IntersectionType, PartialType, PickType } from '@nestjs/swagger';
import { minutes, Throttle } from '@nestjs/throttler';
import type { FastifyRequest } from 'fastify';
import {
  CurrentPrincipal,
  defineErrors,
  Idempotent,
  Int64,
  Integer,
  type Once,
  Operation,
  pages,
  PathId,
  petErrors,
  PetsModule,
  PetsService,
  type Principal,
  SortedPageQuery,
  Sql,
  Text,
} from '../../src';
import { ListPetsQuery } from '../../src/pets';
import { migrationOf } from '../database/support/extensions';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { idsOf, linksOf } from '../support/links';

const { shelf_not_found: shelfNotFound } = defineErrors({
  shelf_not_found: { status: 404, when: 'no shelf has this id', message: 'There is no shelf with this id.' },
});

@ApiSchema({ description: 'A toy.' })
class NewToy {
  @Text({ max: 99, description: 'Its place.', example: 'North' })
  readonly place!: string;

  @Integer({ min: 1, max: 9, description: 'Its size.', example: 2 })
  readonly size!: number;
}

@ApiSchema({ description: 'A toy with its id.' })
class Toy extends NewToy {
  @Int64({ description: 'Identifier of the toy.', example: 1 })
  readonly id!: bigint;
}

const TABLE = {
  table: 'toys',
  columns: 'id, place, size',
  read: ([id, place, size]: [bigint, string, number]): Toy => ({ id, place, size }),
};
const toys = pages(TABLE, { always: ['account_id'], filters: { place: 'place', size: 'size' } });
class ListToysQuery extends IntersectionType(
  SortedPageQuery,
  PartialType(PickType(Toy, ['place', 'size'])),
) {}

class ClosedGuard {
  canActivate(context: ExecutionContext) {
    return !('x-closed' in context.switchToHttp().getRequest<FastifyRequest>().headers);
  }
}

class PetName {
  @Text({ max: 255, description: 'Name of the animal.', example: 'Rex' })
  readonly name!: string;
}

const FACTS = { summary: 'Toys', description: 'Toys.' };

@Controller()
class ToysController {
  private last = 0n;

  constructor(
    private readonly sql: Sql,
    private readonly pets: PetsService,
  ) {}

  @Get('toys')
  @Operation({ ...FACTS, id: 'listToys', scope: 'pets:read', returns: [200, [Toy], 'A page of toys.'] })
  list(@Query() query: ListToysQuery, @CurrentPrincipal() { accountId }: Principal) {
    return toys.list(this.sql, query, { account_id: accountId });
  }

  @Get('names')
  @Operation({ ...FACTS, id: 'listNames', scope: 'pets:read', returns: [200, [PetName], 'A page of names.'] })
  listNames(@Query() query: ListPetsQuery) {
    return this.pets.list(query);
  }

  @Post('shelves/:shelfId/pets/:petId/toys')
  @UseGuards(ClosedGuard)
  @Operation({ ...FACTS, id: 'addToy', scope: 'pets:write', returns: [201, Toy, 'The toy.'] })
  @Throttle({ default: { limit: 9, ttl: minutes(1) } })
  @Header('X-Toy', 'yes')
  add(
    @PathId('shelfId', 'Identifier of the shelf.', shelfNotFound) shelfId: bigint,
    @Body() { place, size }: NewToy,
    @PathId('petId', 'Identifier of the animal.', petErrors.pet_not_found) petId: bigint,
    @Idempotent() once: Once,
  ) {
    return once(async () => {
      this.last += shelfId + petId;
      return { id: this.last, place, size };
    });
  }
}

@Module({ imports: [PetsModule], controllers: [ToysController] })
class ToysModule {}

const INDEXES = [
  'CREATE INDEX toys_account ON toys (account_id, id)',
  'CREATE INDEX toys_place ON toys (account_id NULLS FIRST, place, id)',
  'CREATE INDEX toys_size ON toys (account_id NULLS FIRST, size, id)',
  'CREATE INDEX toys_place_size ON toys (account_id NULLS FIRST, place, size, id)',
];
const TOYS = `CREATE TABLE toys (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account_id bigint, place text, size integer)`;
const CreateToys = migrationOf('Toys1795300000020', [TOYS, ...INDEXES].join('; '), 'DROP TABLE toys');

describe('a module', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp(
      {},
      { extensions: [{ name: 'toys', modules: [ToysModule], migrations: [CreateToys] }] },
    );
  });
  afterAll(() => app.close());

  const document = async () => (await app.get('/openapi.json', { key: undefined })).json;
  const add = (path: string, body: object, headers: Record<string, string> = {}) =>
    app.post(`/v1/shelves/${path}/toys`, body, { headers, isDocumented: false });
  const TOY = { place: 'North', size: 1 };

  it('lists the rows of the account by its filters, also on later pages', async () => {
    const place = 'x=1&limit=3 50 % #1? Gräfrath 🐈 >; rel="next"';
    const fill = `INSERT INTO toys (account_id, place, size)
      SELECT account, $1, 1 + n % 2 FROM generate_series(1, 8) AS n, (SELECT 0 UNION SELECT min(id) FROM accounts) AS of (account)`;
    await app.database.query(fill, [place]);
    const found = 'SELECT id FROM toys WHERE account_id > 0 AND size = 2 ORDER BY id';
    const ids = (await app.database.query(found)).map(({ id }) => Number(id));
    const first = await app.get(`/v1/toys?limit=3&size=2&place=${encodeURIComponent(place)}`);
    const second = await app.get(linksOf(first)['next']!);
    expect([ids.length, [...idsOf(first), ...idsOf(second)]]).toEqual([4, ids]);
  });

  it('has the filters of its list validated and documented, which mapped types of Nest take from the rows', async () => {
    for (const size of [10, 'many'])
      expectError(await app.get(`/v1/toys?size=${size}`), 400, 'validation_failed');
    const { parameters } = (await document()).paths['/toys'].get;
    const description = 'Its size.';
    const schema = { type: 'integer', format: 'int32', minimum: 1, maximum: 9, example: 2 };
    expect(parameters).toContainEqual({ name: 'size', in: 'query', required: false, description, schema });
  });

  it('gets no page without the value of a column that every page needs', async () => {
    const page = toys.list(app.nest.get(Sql, { strict: false }), new ListToysQuery());
    await expect(page).rejects.toThrow('the list of toys needs account_id');
  });

  it('has each @PathId documented in the order of the path, with its error', async () => {
    const { paths, components } = await document();
    const { parameters, responses } = paths['/shelves/{shelfId}/pets/{petId}/toys'].post;
    const schema = { type: 'integer', format: 'int64' };
    expect(parameters.slice(0, 2)).toMatchObject([
      { name: 'shelfId', in: 'path', description: 'Identifier of the shelf.', schema },
      { name: 'petId', in: 'path', description: 'Identifier of the animal.', schema },
    ]);
    expect(responses['404'].$ref).toMatch(/\/NotFound-pet_not_found-shelf_not_found$/);
    const { 'NotFound-pet_not_found-shelf_not_found': notFound } = components.responses;
    expect(notFound.description).toMatch(/`pet_not_found`.*\n.*`shelf_not_found`/);
    expectError(await add('x/pets/2', TOY), 404, 'shelf_not_found');
    expectError(await add('1/pets/2.0', TOY), 404, 'pet_not_found');
  });

  it('creates with a Location of the ids in the path, once for an Idempotency-Key', async () => {
    const once = { 'idempotency-key': 'nested' };
    const all = [
      await add('1/pets/%32', TOY),
      await add('1/pets/2', TOY, once),
      await add('1/pets/2', TOY, once),
    ];
    const { id } = all[0]!.json;
    expect(all.map(({ headers }) => headers['location'])).toEqual(
      [id, id + 3, id + 3].map((each) => `/v1/shelves/1/pets/2/toys/${each}`),
    );
    // Validation precedes the Idempotency-Key.
    expectError(await add('1/pets/2', {}, once), 400, 'validation_failed');
    expectError(await add('1/pets/2', { ...TOY, size: 2 }, once), 422, 'idempotency_key_reused');
  });

  it('has the decorators above and below the @Operation of an idempotent handler', async () => {
    const { json } = await add('1/pets/2', TOY, { 'x-closed': '1' });
    expect(json).toEqual({ code: 'forbidden', message: 'Forbidden resource', status: 403 });
    const { headers } = await add('1/pets/2', TOY, { 'idempotency-key': 'decorated' });
    expect(headers['x-toy']).toBe('yes');
    const { key } = await app.createKey();
    const statuses = [];
    for (let at = 0; at < 10; at += 1)
      statuses.push((await app.post('/v1/shelves/1/pets/2/toys', TOY, { key, isDocumented: false })).status);
    expect(statuses.slice(8)).toEqual([201, 429]);
  });

  it('has its own fields in its list of animals, and listPets has its own, if both share a query', async () => {
    await app.post('/v1/pets', aNewPet({ name: 'Rex' }));
    const paths = ['/v1/names', '/v1/pets'];
    const read = async (path: string) => {
      const { text, headers } = await app.get(path, { isDocumented: false });
      return { text, etag: headers.etag };
    };
    const alone = [await read(paths[0]!), await read(paths[1]!)];
    expect(alone[0]!.text).toBe('[{"name":"Rex"}]');
    // Later ones arrive while the first query runs, so they share the next one.
    const together = await Promise.all([...paths, ...paths, ...paths, ...paths].map(read));
    expect(together).toEqual([...alone, ...alone, ...alone, ...alone]);
  });
});
