import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { RequireScope } from '../auth';
import { Answers, Refuses } from '../http/answers.decorator';
import { Deprecated } from '../http/deprecated.decorator';
import { IdPipe } from '../http/id.pipe';
import { ApiIdParam } from '../http/int64.decorator';
import { Links } from '../http/links';
import { Operation } from '../http/operation.decorator';
import { Idempotent, IdempotentWork } from '../idempotency';
import { ListPetsQuery, NewPet, Pet } from './pets.dto';
import { petNotFound } from './pets.errors';
import { PETS_PATH, PetsService } from './pets.service';

/** Specification, 4.3: the operation goes on 5 December 2030; its successor is the list. */
const GET_PET_DEPRECATION = {
  since: new Date('2026-11-21T00:00:00Z'),
  sunset: new Date('2030-12-05T00:00:00Z'),
  successor: '/pets?status=available',
} as const;

@ApiTags('pets')
@Controller({ path: PETS_PATH, version: '1' })
export class PetsController {
  constructor(
    private readonly pets: PetsService,
    private readonly links: Links,
    private readonly idempotent: IdempotentWork,
  ) {}

  @Get()
  @RequireScope('pets:read')
  @Operation('listPets', 'List animals', 'Lists the animals of the store by ascending `id`, page by page.')
  @Answers(200, [Pet], 'A page of animals by ascending id; `Link` leads to the next one.')
  async listPets(@Query() query: ListPetsQuery, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.links.page(reply, PETS_PATH, query, await this.pets.list(query));
  }

  @Post()
  @RequireScope('pets:write')
  @Idempotent()
  @Operation('createPet', 'Add an animal', 'Adds an animal to the store and gives it an `id`.')
  @Answers(201, Pet, 'The created animal; `Location` is its address.')
  createPet(@Body() pet: NewPet, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.idempotent.run(reply, async (transaction) =>
      this.links.created(reply, PETS_PATH, await this.pets.create(pet, transaction)),
    );
  }

  @Get(':petId')
  @RequireScope('pets:read')
  @Deprecated(GET_PET_DEPRECATION)
  @Operation(
    'getPet',
    'Get an animal',
    'Deprecated: it will be removed on 5 December 2030. Use the list of animals with its `status` filter instead.',
  )
  @ApiIdParam('petId', 'Identifier of the animal.')
  @Answers(200, Pet, 'The animal.')
  @Refuses('pet_not_found')
  getPet(@Param('petId', new IdPipe(petNotFound)) petId: bigint) {
    return this.pets.get(petId);
  }
}
