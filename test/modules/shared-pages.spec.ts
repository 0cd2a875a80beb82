import { Controller, Get, Module, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Links, ListPetsQuery, Operation, PetsModule, PetsService, Text } from '../../src';
import { startApp, type TestApp } from '../support/app';
import { aNewPet } from '../support/factories';
import { lockWaits } from '../support/lock-waits';
import { until } from '../support/until';

class PetName {
  @Text({ max: 255, description: 'Name of the animal.', example: 'Rex' })
  readonly name!: string;
}

@Controller({ path: '/names', version: '1' })
class NamesController {
  constructor(
    private readonly pets: PetsService,
    private readonly links: Links,
  ) {}

  @Get()
  @Operation({
    id: 'listNames',
    summary: 'List names',
    description: 'Lists the names of the animals in pages.',
    scope: 'pets:read',
    returns: [200, [PetName], 'A page of names.'],
  })
  async listNames(@Query() query: ListPetsQuery, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.links.page(reply, await this.pets.list(query));
  }
}

@Module({ imports: [PetsModule], controllers: [NamesController], providers: [Links] })
class NamesModule {}

describe("a module's list of the store's animals", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({}, { modules: [NamesModule] });
    await app.post('/v1/pets', aNewPet({ name: 'Rex' }));
  });
  afterAll(() => app.close());

  it('has its own fields, and listPets has its own, if both share a query', async () => {
    const paths = ['/v1/names', '/v1/pets', '/v1/names', '/v1/pets'];
    const alone = await Promise.all(paths.slice(0, 2).map((path) => app.get(path)));
    await app.database.query('BEGIN; LOCK TABLE pets IN ACCESS EXCLUSIVE MODE');
    const first = app.get('/v1/pets');
    await until(async () => (await lockWaits(app.database)).length > 0);
    // They arrive while the first query waits, so they share the next one.
    const later = paths.map((path) => app.get(path));
    await app.database.query('COMMIT');
    const [names, animals] = alone.map(({ text, headers }) => ({ text, etag: headers.etag }));
    expect(names!.text).toBe('[{"name":"Rex"}]');
    const responses = await Promise.all([...later, first]);
    expect(responses.map(({ text, headers }) => ({ text, etag: headers.etag }))).toEqual([
      names,
      animals,
      names,
      animals,
      animals,
    ]);
  });
});
