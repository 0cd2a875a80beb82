import { Controller, Get, Module, Query } from '@nestjs/common';
import { Operation, PetsModule, PetsService, Text } from '../../../src';
import { ListPetsQuery } from '../../../src/pets';

class PetName {
  @Text({ max: 255, description: 'Name of the animal.', example: 'Rex' })
  readonly name!: string;
}

@Controller({ version: '1' })
class ListsController {
  constructor(private readonly pets: PetsService) {}

  @Get('names')
  @Operation({
    id: 'listNames',
    summary: 'List names',
    description: 'Lists the names of the animals in pages.',
    scope: 'pets:read',
    returns: [200, [PetName], 'A page of names.'],
  })
  listNames(@Query() query: ListPetsQuery) {
    return this.pets.list(query);
  }
}

/** Another list of the store's animals. */
@Module({ imports: [PetsModule], controllers: [ListsController] })
export class ListsModule {}
