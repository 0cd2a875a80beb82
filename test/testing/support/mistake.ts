import type { Changes } from './items.extension';
import { createTable } from './items.parts';

/** Planted mistakes, each with the sentence that names it, by the name of their extension. */
export type Mistakes = Readonly<Record<string, Changes & { readonly sentence: RegExp }>>;

/** Limits mistakes to some handlers, and the body to its name, because each handler and member takes time. */
export function on(handlers: NonNullable<Changes['handlers']>, mistakes: Mistakes): Mistakes {
  const limited = Object.entries(mistakes).map(([name, changes]) => {
    const hasWeight = changes.body?.['weight'] !== undefined;
    return [name, { handlers, hasWeight, ...changes }] as const;
  });
  return Object.fromEntries(limited);
}

/** Items without the operation that creates them: its values would be checked for each mistake. */
export const STORED: Changes = {
  up: (table) => `${createTable(table)};
    INSERT INTO ${table} (name, weight, places) SELECT (9 - i)::text, 5, 12 FROM generate_series(1, 3) AS i`,
};
