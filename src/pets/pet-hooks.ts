import { Injectable } from '@nestjs/common';
import { type ChangeListener, ChangeListeners } from '../database/change-listeners';
import type { Pet } from './pets.dto';

export interface PetChange {
  readonly pet: Pet;
  /** The animal before the change; undefined if it was created. */
  readonly previous: Pet | undefined;
}

/** Listeners of other modules to every change of an animal, which run inside its transaction. */
@Injectable()
export class PetHooks extends ChangeListeners<PetChange> {
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
