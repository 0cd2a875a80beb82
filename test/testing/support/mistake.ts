import type { Changes } from './items.extension';
import { createTable } from './items.parts';

/** A planted mistake, and the sentence that names it. */
export type Mistake = readonly [name: string, sentence: RegExp, changes: Changes];

/** Limits mistakes to some handlers of the extension, and the body to its name, because each handler and member takes time. */
export function on(
  handlers: NonNullable<Changes['handlers']>,
  mistakes: readonly Mistake[],
): readonly Mistake[] {
  return mistakes.map(([name, sentence, changes]) => [
    name,
    sentence,
    { handlers, hasWeight: changes.body?.['weight'] !== undefined, ...changes },
  ]);
}

/** Without the checks of Idempotency-Key, for a creation that the mistake replaces. */
export const PLAIN: NonNullable<Changes['facts']> = { create: { idempotent: undefined } as never };

/** Items without the operation that creates them: its values would be checked for each mistake. */
export const STORED: Changes = {
  up: (table) => `${createTable(table)};
    INSERT INTO ${table} (name, weight, places) SELECT (9 - i)::text, 5, 12 FROM generate_series(1, 3) AS i`,
};
