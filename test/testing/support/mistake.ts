import type { Changes } from './items.extension';

/** A planted mistake, and the sentence that names it. */
export type Mistake = readonly [name: string, sentence: RegExp, changes: Changes];

/** Limits mistakes to some handlers of the extension, because each handler takes time to check. */
export function on(
  handlers: NonNullable<Changes['handlers']>,
  mistakes: readonly Mistake[],
): readonly Mistake[] {
  return mistakes.map(([name, sentence, changes]) => [name, sentence, { handlers, ...changes }]);
}

/** Without the checks of Idempotency-Key, for a creation that the mistake replaces. */
export const PLAIN: NonNullable<Changes['facts']> = { create: { idempotent: undefined } as never };
