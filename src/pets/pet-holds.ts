import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { ApiError } from '../platform/errors/api-error';
import type { DefinedError } from '../platform/errors/define-errors';

/** A reason for which an animal must stay, such as an open order. */
export interface PetHold {
  /** `change`: neither is the animal removed, nor does its status change. */
  readonly forbids: 'removal' | 'change';
  /** The response, which the document lists. */
  readonly error: DefinedError & (() => ApiError);
  /** Tells whether the animal is held. The transaction has locked its row. */
  readonly isHeld: (petId: bigint, transaction: EntityManager) => Promise<boolean>;
}

/** The reasons of other modules for which animals must stay. */
@Injectable()
export class PetHolds {
  private readonly holds: PetHold[] = [];

  /** Adds a reason. Call it in `onModuleInit`. */
  add(hold: PetHold): void {
    this.holds.push(hold);
  }

  /** @throws ApiError of the first reason against a removal, or against a change of the status @internal */
  async requireNone(action: PetHold['forbids'], petId: bigint, transaction: EntityManager): Promise<void> {
    for (const { forbids, error, isHeld } of this.holds) {
      const applies = forbids === 'change' || forbids === action;
      if (applies && (await isHeld(petId, transaction))) throw error();
    }
  }

  /** Lists the errors with the operations that respond with them, for the document. @internal */
  errors(): DefinedError[] {
    return this.holds.map(({ error, forbids }) => {
      const on = forbids === 'change' ? ['updatePet', 'deletePet'] : ['deletePet'];
      return Object.assign({}, error, { on });
    });
  }
}
