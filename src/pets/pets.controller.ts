import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Operation } from '../platform/api-docs/operation.decorator';
import { IdPipe } from '../platform/http/id.pipe';
import { Links } from '../platform/http/links';
import { IdempotentWork } from '../platform/idempotency';
import { ListPetsQuery, NewPet, Pet } from './pets.dto';
import { petErrors } from './pets.errors';
import { petScopes } from './pets.scopes';
import { PETS_PATH, PetsService } from './pets.service';

/** Specification, 4.3: the operation will be removed on 5 December 2030; the list replaces it. */
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
  @Operation({
    id: 'listPets',
    summary: 'List animals',
    description: 'Lists the animals of the store in pages, by ascending `id`.',
    scope: petScopes.read,
    returns: [200, [Pet], 'A page of animals by ascending `id`. `Link` has the next page.'],
  })
  async listPets(@Query() query: ListPetsQuery, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.links.page(reply, PETS_PATH, query, await this.pets.list(query));
  }

  @Post()
  @Operation({
    id: 'createPet',
    summary: 'Add an animal',
    description: 'Adds an animal to the store. The service assigns its `id`.',
    scope: petScopes.write,
    idempotent: true,
    returns: [201, Pet, 'The created animal. `Location` is its URL.'],
  })
  createPet(@Body() pet: NewPet, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.idempotent.run(reply, async (transaction) =>
      this.links.created(reply, PETS_PATH, await this.pets.create(pet, transaction)),
    );
  }

  @Get(':petId')
  @Operation({
    id: 'getPet',
    summary: 'Get an animal',
    description:
      'Deprecated: it will be removed on 5 December 2030. Use listPets with its `status` filter instead.',
    scope: petScopes.read,
    deprecation: GET_PET_DEPRECATION,
    pathIds: { petId: 'Identifier of the animal.' },
    returns: [200, Pet, 'The animal.'],
    rejects: [petErrors.pet_not_found],
  })
  getPet(@Param('petId', new IdPipe(petErrors.pet_not_found)) petId: bigint) {
    return this.pets.get(petId);
  }
}
