import { Controller, Get, Module, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Links, ListPetsQuery, Operation, PetsModule, PetsService, Text } from '../../../src';

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

/** A module with a list of its own of the store's animals. */
@Module({ imports: [PetsModule], controllers: [NamesController], providers: [Links] })
export class NamesModule {}
