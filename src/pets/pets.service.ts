import { Injectable } from '@nestjs/common';
import { type EntityManager, QueryFailedError } from 'typeorm';
import { CoalescedRead } from '../database/coalesced-read';
import { codeOf } from '../config/user-error';
import { Sql } from '../database/sql';
import type { Page } from '../api/lists/page';
import { isInForce, type Precondition } from '../api/entity-tags/entity-tag';
import type { ListPetsQuery, NewPet, Pet, PetUpdate } from './pets.dto';
import { PetHolds } from './pet-holds';
import { PetHooks } from './pet-hooks';
import { PET_STATUSES_BEFORE, type PetStatus } from './pet-status';
import { petErrors } from './pets.errors';
import { petPages, PetsRepository } from './pets.repository';

@Injectable()
export class PetsService {
  private readonly pages = new CoalescedRead<Page<Pet>>();

  /** @internal */
  constructor(
    private readonly sql: Sql,
    private readonly pets: PetsRepository,
    private readonly hooks: PetHooks,
    private readonly holds: PetHolds,
  ) {}

  /** Lists a page of animals. Concurrent requests for one page share a query. @throws ApiError `invalid_cursor` */
  list(query: ListPetsQuery): Promise<Page<Pet>> {
    return petPages.list(this.sql, query, {}, this.pages);
  }

  async create(pet: NewPet, outer?: EntityManager): Promise<Pet> {
    if (!outer && this.hooks.isEmpty && this.sql.isPipelining) return this.pets.insert(pet);
    const [created] = await this.createAll([pet], outer);
    if (!created) throw new Error('INSERT … RETURNING returned no row');
    return created;
  }

  /** Adds animals, all or none. Their ids ascend in the order of the animals. */
  createAll(pets: readonly NewPet[], outer?: EntityManager): Promise<readonly Pet[]> {
    // Without listeners the insertion is a transaction of its own, which costs one round trip instead of three.
    if (this.hooks.isEmpty) return this.pets.insertAll(pets, outer);
    return this.sql.transaction(async (transaction) => {
      const created = await this.pets.insertAll(pets, transaction);
      for (const pet of created) await this.hooks.run({ pet, previous: undefined }, transaction);
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
   * Changes the given members of an animal.
   *
   * @throws ApiError `pet_not_found`, `precondition_failed`; the error of a hold if the status would change
   */
  update(id: bigint, change: PetUpdate, precondition: Precondition<Pet>): Promise<Pet> {
    return this.sql.transaction(async (transaction) => {
      const previous = await this.lock(id, transaction);
      if (isInForce(change, previous)) return previous;
      precondition(previous);
      const { status = previous.status } = change;
      if (status !== previous.status) await this.holds.requireNone('updatePet', id, transaction);
      const pet = await this.pets.update(previous, change, transaction);
      await this.hooks.run({ pet, previous }, transaction);
      return pet;
    });
  }

  /**
   * Removes an animal. Its earlier orders stay. With `If-Match` it may have been removed before: the response was lost.
   *
   * @throws ApiError `pet_not_found`, `precondition_failed`, `pet_in_use`; the error of a hold
   */
  async remove(id: bigint, precondition: Precondition<Pet>): Promise<void> {
    try {
      await this.sql.transaction(async (transaction) => {
        const pet = await this.pets.lock(id, transaction);
        if (!pet && precondition.isGiven) return;
        if (!pet) throw petErrors.pet_not_found();
        precondition(pet);
        await this.holds.requireNone('deletePet', id, transaction);
        await this.pets.delete(pet, transaction);
        await this.hooks.removals.run(pet, transaction);
      });
    } catch (error) {
      // A foreign key of another table keeps the row, by its own action or by RESTRICT.
      const isReferenced = error instanceof QueryFailedError && /^(23503|23001)$/.test(codeOf(error));
      throw isReferenced ? petErrors.pet_in_use() : error;
    }
  }

  /**
   * Changes the status of an animal within the transaction of an order. Of concurrent changes exactly one succeeds.
   *
   * @throws ApiError `pet_not_found`; `pet_not_available` if the transition is not allowed
   * @internal
   */
  async changeStatus(id: bigint, to: PetStatus, transaction: EntityManager): Promise<void> {
    const previous = this.hooks.isEmpty ? undefined : await this.pets.lock(id, transaction);
    const pet = await this.pets.changeStatus(id, to, PET_STATUSES_BEFORE[to], transaction);
    if (!pet) {
      await this.get(id, transaction);
      throw petErrors.pet_not_available();
    }
    if (previous) await this.hooks.run({ pet, previous }, transaction);
  }

  /**
   * Locks an animal: until the end of the transaction no other one changes, orders or removes it.
   *
   * @param notFound the error if no animal has this id, such as that of a row whose animal was removed
   */
  async lock(id: bigint, transaction: EntityManager, notFound = petErrors.pet_not_found): Promise<Pet> {
    const pet = await this.pets.lock(id, transaction);
    if (!pet) throw notFound();
    return pet;
  }
}
