import { Controller, Get, Module, Query } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import { Int64, Integer, Operation, PetsModule, PetsService, Text } from '../../../src';
import { ListPetsQuery } from '../../../src/pets';
import { cutPage, PageQuery, pageRequestOf } from '../../../src/platform/paging/page';

export const HERDS_PATH = '/lab/herds';
const HERDS = [1n, 2n, 3n].map((id) => ({ id }));

class Herd {
  @Int64({ description: 'Identifier of the herd.', example: 1 })
  readonly id!: bigint;
}

class ListHerdsQuery extends PageQuery {
  @ApiPropertyOptional({ type: 'string', description: 'Only herds at this place.' })
  @IsOptional()
  @IsString()
  readonly place?: string;

  @Integer({ min: 0, max: 9, optional: true, description: 'Only herds of this size.', example: 7 })
  readonly size?: number;
}

class PetName {
  @Text({ max: 255, description: 'Name of the animal.', example: 'Rex' })
  readonly name!: string;
}

@Controller({ version: '1' })
class ListsController {
  constructor(private readonly pets: PetsService) {}

  @Get(HERDS_PATH)
  @Operation({
    id: 'listHerds',
    summary: 'List herds',
    description: 'Lists the herds in pages.',
    scope: 'pets:read',
    returns: [200, [Herd], 'A page of herds.'],
  })
  listHerds(@Query() query: ListHerdsQuery) {
    const request = pageRequestOf(HERDS_PATH, query);
    return cutPage(
      request,
      HERDS.filter(({ id }) => id >= request.first),
    );
  }

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

/** A list that has filters of its own, and another list of the store's animals. */
@Module({ imports: [PetsModule], controllers: [ListsController] })
export class ListsModule {}
