import { Injectable } from '@nestjs/common';
import { cutPage, decodeCursor, type Page } from '../http/page';
import { listName } from '../http/links';
import type { ListPetsQuery, NewPet, Pet } from './pets.dto';
import { petNotFound } from './pets.errors';
import { PetsRepository } from './pets.repository';

/** Path of the animals below the base URL. */
export const PETS_PATH = '/pets';

@Injectable()
export class PetsService {
  constructor(private readonly pets: PetsRepository) {}

  /** @throws ApiError `invalid_cursor` */
  async list(query: ListPetsQuery): Promise<Page<Pet>> {
    const after = decodeCursor(listName(PETS_PATH, query), query.cursor);
    return cutPage(await this.pets.list(after, query.limit + 1, query.status), query.limit);
  }

  create(pet: NewPet): Promise<Pet> {
    return this.pets.insert(pet);
  }

  /** @throws ApiError `pet_not_found` */
  async get(id: bigint): Promise<Pet> {
    const pet = await this.pets.find(id);
    if (!pet) throw petNotFound();
    return pet;
  }
}
