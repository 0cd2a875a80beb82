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

  /**
   * Lists the reasons against a removal, or against a change of the status.
   *
   * @internal
   */
  against(action: PetHold['forbids']): PetHold[] {
    return this.holds.filter(({ forbids }) => forbids === 'change' || forbids === action);
  }

  /**
   * Lists the errors with the operations that respond with them, for the document.
   *
   * @internal
   */
  errors(): DefinedError[] {
    return this.holds.map(({ error, forbids }) => {
      const on = forbids === 'change' ? ['updatePet', 'deletePet'] : ['deletePet'];
      return Object.assign({}, error, { on });
    });
  }
}
