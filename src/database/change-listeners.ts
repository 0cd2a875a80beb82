import type { EntityManager } from 'typeorm';

/**
 * Runs inside the transaction of a change: what it writes with `transaction` commits with the change or not at all.
 *
 * If it throws, the change is rolled back; an ApiError is the response.
 */
export type ChangeListener<Change> = (change: Change, transaction: EntityManager) => Promise<void> | void;

export class ChangeListeners<Change> {
  private readonly listeners: ChangeListener<Change>[] = [];

  /** @internal */
  get isEmpty(): boolean {
    return this.listeners.length === 0;
  }

  /** @internal */
  add(listener: ChangeListener<Change>): void {
    this.listeners.push(listener);
  }

  /** Runs the listeners in the order in which they were added. @internal */
  async run(change: Change, transaction: EntityManager): Promise<void> {
    for (const listener of this.listeners) await listener(change, transaction);
  }
}
