import { Body, Controller, Delete, Get, Patch, Post, Query } from '@nestjs/common';
import { Operation } from '../api/operation/operation.decorator';
import { IfMatch, type Precondition } from '../api/entity-tags/entity-tag';
import { Idempotent, type Once } from '../api/idempotency/idempotent.decorator';
import { parseInt64, PathId } from '../api/fields/int64';
import { ListPetsQuery, NewPet, NewPets, Pet, PetUpdate } from './pets.dto';
import { petErrors } from './pets.errors';
import { petScopes } from './pets.scopes';
import { PetsService } from './pets.service';

/** Path of the list of animals, relative to the base URL. */
const PATH = '/pets';

/** The list replaces the operation, which will be removed on 5 December 2030 (docs/specification.md). */
const GET_PET_DEPRECATION = {
  since: new Date('2026-11-21T00:00:00Z'),
  sunset: new Date('2030-12-05T00:00:00Z'),
  successorOf: ({ petId = '' }) => (parseInt64(petId) === undefined ? PATH : `${PATH}?id=${petId}`),
} as const;

const PetId = () => PathId('petId', 'Identifier of the animal.', petErrors.pet_not_found);

@Controller(PATH)
export class PetsController {
  constructor(private readonly pets: PetsService) {}

  @Get()
  @Operation({
    id: 'listPets',
    isSpecified: true,
    summary: 'List animals',
    description:
      'Lists the animals of the store in pages. The filters combine by AND; without one all animals are listed.',
    scope: petScopes.read,
    returns: [200, [Pet], 'A page of animals in the order of `sort`. `Link` has the next page.'],
  })
  listPets(@Query() query: ListPetsQuery) {
    return this.pets.list(query);
  }

  @Post()
  @Operation({
    id: 'createPet',
    isSpecified: true,
    summary: 'Add an animal',
    description: 'Adds an animal to the store. The service assigns its `id`.',
    scope: petScopes.write,
    returns: [201, Pet, 'The created animal. `Location` is its URL.'],
  })
  createPet(@Body() pet: NewPet, @Idempotent() once: Once) {
    return once((transaction) => this.pets.create(pet, transaction));
  }

  @Post('batch')
  @Operation({
    id: 'createPets',
    summary: 'Add several animals',
    description:
      'Adds 1 to 100 animals, all or none, in one request of the limits. The body has at most `BODY_LIMIT_BYTES` (64 KiB), as every body.',
    scope: petScopes.write,
    hasEntityTag: false,
    returns: [201, [Pet], 'The created animals, in the order of `items`. Their ids ascend.'],
  })
  createPets(@Body() { items }: NewPets, @Idempotent() once: Once) {
    return once((transaction) => this.pets.createAll(items, transaction));
  }

  @Get(':petId')
  @Operation({
    id: 'getPet',
    isSpecified: true,
    summary: 'Get an animal',
    description:
      'Deprecated: it will be removed on 5 December 2030. Use listPets with its `id` filter instead.',
    scope: petScopes.read,
    deprecation: GET_PET_DEPRECATION,
    returns: [200, Pet, 'The animal.'],
  })
  getPet(@PetId() id: bigint) {
    return this.pets.get(id);
  }

  @Patch(':petId')
  @Operation({
    id: 'updatePet',
    summary: 'Change an animal',
    description:
      'Changes the given members of an animal. While an order holds the animal, its `status` cannot change.',
    scope: petScopes.manage,
    returns: [200, Pet, 'The changed animal.'],
    rejects: [petErrors.pet_has_open_order],
  })
  updatePet(@PetId() id: bigint, @Body() change: PetUpdate, @IfMatch(Pet) precondition: Precondition<Pet>) {
    return this.pets.update(id, change, precondition);
  }

  @Delete(':petId')
  @Operation({
    id: 'deletePet',
    summary: 'Remove an animal',
    description: 'Removes an animal. Its earlier orders stay as they are.',
    scope: petScopes.manage,
    returns: [204, undefined, 'The animal was removed.'],
    rejects: [petErrors.pet_has_open_order, petErrors.pet_in_use],
  })
  deletePet(@PetId() id: bigint, @IfMatch(Pet) precondition: Precondition<Pet>) {
    return this.pets.remove(id, precondition);
  }
}
