import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Sql } from '../platform/database/sql';
import { CoalescedRead } from '../platform/database/coalesced-read';
import { cutPage, decodeCursor, type Page } from '../platform/http/page';
import { listName } from '../platform/http/links';
import type { ListPetsQuery, NewPet, Pet } from './pets.dto';
import { PetEvents } from './pet-events';
import { PET_TRANSITIONS, type PetStatus } from './pet-status';
import { petErrors } from './pets.errors';
import { PetsRepository } from './pets.repository';

/** Path of the list of animals, relative to the base URL. */
export const PETS_PATH = '/pets';

@Injectable()
export class PetsService {
  private readonly pages = new CoalescedRead<Page<Pet>>();

  constructor(
    private readonly sql: Sql,
    private readonly pets: PetsRepository,
    private readonly events: PetEvents,
  ) {}

  /**
   * Lists a page of animals. Concurrent requests for one page share a query and its result.
   *
   * @throws ApiError `invalid_cursor`
   */
  list(query: ListPetsQuery): Promise<Page<Pet>> {
    const { limit, status } = query;
    const after = decodeCursor(listName(PETS_PATH, query), query.cursor);
    return this.pages.read(`${after} ${limit} ${status}`, () =>
      this.pets.list(after, limit + 1, status).then((pets) => cutPage(pets, limit)),
    );
  }

  create(pet: NewPet, outer?: EntityManager): Promise<Pet> {
    // Without listeners the insertion is a transaction of its own, which costs one round trip instead of three.
    if (this.events.isEmpty) return this.pets.insert(pet, outer);
    return this.sql.transaction(async (transaction) => {
      const created = await this.pets.insert(pet, transaction);
      await this.events.run({ pet: created, previous: undefined }, transaction);
      return created;
    }, outer);
  }

  /** @throws ApiError `pet_not_found` */
  async get(id: bigint, transaction?: EntityManager): Promise<Pet> {
    const pet = await this.pets.find(id, transaction);
    if (!pet) throw petErrors.pet_not_found();
    return pet;
  }

  /**
   * Changes the status of an animal within the transaction of an order. Of concurrent changes exactly one succeeds.
   *
   * @throws ApiError `pet_not_found`; `pet_not_available` if the transition is not allowed
   */
  async changeStatus(id: bigint, to: PetStatus, transaction: EntityManager): Promise<void> {
    const previous = this.events.isEmpty ? undefined : await this.pets.lock(id, transaction);
    const pet = await this.pets.changeStatus(id, to, PET_TRANSITIONS[to], transaction);
    if (!pet) throw await this.rejectionOf(id, transaction);
    if (previous) await this.events.run({ pet, previous }, transaction);
  }

  private async rejectionOf(id: bigint, transaction: EntityManager) {
    const found = await this.pets.find(id, transaction);
    return found ? petErrors.pet_not_available() : petErrors.pet_not_found();
  }
}
