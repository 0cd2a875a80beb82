import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { SharedRead } from '../database/shared-read';
import { cutPage, decodeCursor, type Page } from '../http/page';
import { listName } from '../http/links';
import type { ListPetsQuery, NewPet, Pet } from './pets.dto';
import { PET_TRANSITIONS, type PetStatus } from './pet-status';
import { petNotAvailable, petNotFound } from './pets.errors';
import { PetsRepository } from './pets.repository';

/** Path of the animals below the base URL. */
export const PETS_PATH = '/pets';

@Injectable()
export class PetsService {
  private readonly pages = new SharedRead<Page<Pet>>();

  constructor(private readonly pets: PetsRepository) {}

  /**
   * Requests for one page share its query, and what it returns.
   *
   * @throws ApiError `invalid_cursor`
   */
  list(query: ListPetsQuery): Promise<Page<Pet>> {
    const { limit, status } = query;
    const after = decodeCursor(listName(PETS_PATH, query), query.cursor);
    return this.pages.read(`${after} ${limit} ${status}`, async () =>
      cutPage(await this.pets.list(after, limit + 1, status), limit),
    );
  }

  create(pet: NewPet, transaction?: EntityManager): Promise<Pet> {
    return this.pets.insert(pet, transaction);
  }

  /** @throws ApiError `pet_not_found` */
  async get(id: bigint): Promise<Pet> {
    const pet = await this.pets.find(id);
    if (!pet) throw petNotFound();
    return pet;
  }

  /**
   * Moves an animal to another status, as part of what makes it move. Of any number of transactions that move one
   * animal at once exactly one does.
   *
   * @throws ApiError `pet_not_found`; `pet_not_available` where its status does not lead to that one
   */
  async move(id: bigint, to: PetStatus, transaction: EntityManager): Promise<void> {
    if (await this.pets.move(id, to, PET_TRANSITIONS[to], transaction)) return;
    const pet = await this.pets.find(id, transaction);
    throw pet ? petNotAvailable() : petNotFound();
  }
}
