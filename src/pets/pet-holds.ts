import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';

/** Tells whether a module holds an animal, such as by an open order. The transaction has locked the animal's row. */
export type PetHold = (petId: bigint, transaction: EntityManager) => Promise<boolean>;

/** Asks other modules whether one holds an animal: then clients can neither change its status nor remove it. */
@Injectable()
export class PetHolds {
  private readonly holds: PetHold[] = [];

  /** Adds a module's answer. Call it in `onModuleInit`. */
  add(hold: PetHold): void {
    this.holds.push(hold);
  }

  /** @internal */
  async isHeld(petId: bigint, transaction: EntityManager): Promise<boolean> {
    for (const hold of this.holds) if (await hold(petId, transaction)) return true;
    return false;
  }
}
