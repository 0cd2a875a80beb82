import { Body, Controller, Delete, Get, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Operation } from '../platform/api-docs/operation.decorator';
import { IdPipe, parseInt64 } from '../platform/validation/int64';
import { Links } from '../platform/paging/page';
import { preconditionOf } from '../platform/entity-tags/entity-tag';
import { IdempotentWork } from '../platform/idempotency';
import { ListPetsQuery, NewPet, Pet, PetUpdate } from './pets.dto';
import { petErrors } from './pets.errors';
import { petScopes } from './pets.scopes';
import { PETS_PATH, PetsService } from './pets.service';

/** Specification, 4.3: the operation will be removed on 5 December 2030; the list replaces it. */
const GET_PET_DEPRECATION = {
  since: new Date('2026-11-21T00:00:00Z'),
  sunset: new Date('2030-12-05T00:00:00Z'),
  successorOf: ({ petId = '' }) => (parseInt64(petId) === undefined ? PETS_PATH : `${PETS_PATH}?id=${petId}`),
} as const;

const PET_ID = { petId: 'Identifier of the animal.' };

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
    description:
      'Lists the animals of the store in pages. The filters combine by AND; without one all animals are listed.',
    scope: petScopes.read,
    returns: [200, [Pet], 'A page of animals in the order of `sort`. `Link` has the next page.'],
  })
  async listPets(@Query() query: ListPetsQuery, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.links.page(reply, await this.pets.list(query));
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
      'Deprecated: it will be removed on 5 December 2030. Use listPets with its `id` filter instead.',
    scope: petScopes.read,
    deprecation: GET_PET_DEPRECATION,
    pathIds: PET_ID,
    returns: [200, Pet, 'The animal.'],
    rejects: [petErrors.pet_not_found],
  })
  getPet(@Param('petId', new IdPipe(petErrors.pet_not_found)) petId: bigint) {
    return this.pets.get(petId);
  }

  @Patch(':petId')
  @Operation({
    id: 'updatePet',
    summary: 'Change an animal',
    description:
      'Changes the given members of an animal. While an order holds the animal, its `status` cannot change.',
    extension: true,
    scope: petScopes.manage,
    conditional: true,
    pathIds: PET_ID,
    returns: [200, Pet, 'The changed animal.'],
    rejects: [petErrors.pet_not_found, petErrors.pet_has_open_order],
  })
  updatePet(
    @Param('petId', new IdPipe(petErrors.pet_not_found)) petId: bigint,
    @Body() change: PetUpdate,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.pets.update(petId, change, preconditionOf(reply, Pet));
  }

  @Delete(':petId')
  @Operation({
    id: 'deletePet',
    summary: 'Remove an animal',
    description: 'Removes an animal. Its earlier orders stay as they are.',
    extension: true,
    scope: petScopes.manage,
    conditional: true,
    pathIds: PET_ID,
    returns: [204, undefined, 'The animal was removed.'],
    rejects: [petErrors.pet_not_found, petErrors.pet_has_open_order, petErrors.pet_in_use],
  })
  deletePet(
    @Param('petId', new IdPipe(petErrors.pet_not_found)) petId: bigint,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.pets.remove(petId, preconditionOf(reply, Pet));
  }
}
