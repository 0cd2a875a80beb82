import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { type ChangeListener, ChangeListeners } from '../database/change-listeners';
import type { ApiError, DefinedError } from '../api/errors/api-error';
import type { Pet } from './pets.dto';

export interface PetChange {
  readonly pet: Pet;
  /** The animal before the change; undefined if it was created. */
  readonly previous: Pet | undefined;
}

/** Tells other modules of every change of an animal, inside its transaction. */
@Injectable()
export class PetEvents extends ChangeListeners<PetChange> {
  /** @internal */
  readonly removals = new ChangeListeners<Pet>();

  /** Adds a listener to created and changed animals. Call it in `onModuleInit`. */
  onChanged(listener: ChangeListener<PetChange>): void {
    this.add(listener);
  }

  /** Adds a listener to removed animals; it runs after the row was deleted. Call it in `onModuleInit`. */
  onRemoved(listener: ChangeListener<Pet>): void {
    this.removals.add(listener);
  }
}

/** The operations that each kind of hold forbids. */
const FORBIDDEN = {
  removal: ['deletePet'],
  /** The animal is not removed, and its status does not change but by its order. */
  change: ['updatePet', 'deletePet'],
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

  /** @throws ApiError of the first reason against an operation that would change the animal's status, remove it or order it @internal */
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
