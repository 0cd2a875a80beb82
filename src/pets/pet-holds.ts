import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { ApiError, DefinedError } from '../api/errors/api-error';

/** The operations that each kind of hold forbids. */
const FORBIDDEN = {
  removal: ['deletePet'],
  /** The animal is not removed, and its status does not change but by its order. */
  change: ['updatePet', 'deletePet'],
  /** For reasons of extensions, such as a quarantine: an animal with an open order is not `available` anyway. */
  order: ['placeOrder'],
} as const;

/** A reason for which an animal must stay, such as an open order, or must not be sold. */
export interface PetHold {
  readonly forbids: keyof typeof FORBIDDEN;
  /** The response, which the document lists. */
  readonly error: DefinedError & (() => ApiError);
  /** Tells whether the animal is held. The transaction has locked its row. */
  readonly isHeld: (petId: bigint, transaction: EntityManager) => Promise<boolean>;
}

/** The reasons of other modules for which animals must stay, or must not be ordered. */
@Injectable()
export class PetHolds {
  private readonly holds: PetHold[] = [];

  /** Adds a reason. Call it in `onModuleInit` or `onApplicationBootstrap`. */
  add(hold: PetHold): void {
    this.holds.push(hold);
  }

  /** @throws ApiError of the first reason against the operation @internal */
  async requireNone(
    operation: (typeof FORBIDDEN)[PetHold['forbids']][number],
    petId: bigint,
    transaction: EntityManager,
  ): Promise<void> {
    for (const { forbids, error, isHeld } of this.holds) {
      const applies = FORBIDDEN[forbids].some((each) => each === operation);
      if (applies && (await isHeld(petId, transaction))) throw error();
    }
  }

  /** Lists the errors with the operations that respond with them, for the document. @internal */
  errors(): DefinedError[] {
    return this.holds.map(({ error }) => {
      const same = this.holds.filter((hold) => hold.error === error);
      return Object.assign({}, error, { on: same.flatMap(({ forbids }) => FORBIDDEN[forbids]) });
    });
  }
}
