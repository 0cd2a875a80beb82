/** Returns the words with one difference. @param near words that have the letters to insert */
export function editsOf(word: string, near: readonly string[]): string[] {
  const letters = new Set(Array.from(near.join('')));
  const splits = [...Array.from(word), ''].map((letter, at, all) => ({
    start: all.slice(0, at).join(''),
    letter,
    next: all[at + 1] ?? '',
    rest: all.slice(at + 2).join(''),
  }));
  return [
    ...splits.flatMap(({ start, letter, next, rest }) => [start + next + rest, start + next + letter + rest]),
    ...splits.flatMap(({ start, letter, next, rest }) =>
      Array.from(letters).flatMap((other) => [
        start + other + next + rest,
        start + other + letter + next + rest,
      ]),
    ),
  ];
}

/** The number of inserted, missing, changed and swapped letters between two words. */
export function editDistance(one: string, other: string): number {
  const [a, b] = [Array.from(one), Array.from(other)];
  let [before, last]: [number[], number[]] = [[], [...b.keys(), b.length]];
  for (const [at, letter] of a.entries()) {
    const row = [at + 1];
    for (const [to, wanted] of b.entries()) {
      const changed = (last[to] ?? 0) + (letter === wanted ? 0 : 1);
      const isSwapped = at > 0 && to > 0 && letter === b[to - 1] && a[at - 1] === wanted;
      const swapped = isSwapped ? (before[to - 1] ?? 0) + 1 : Infinity;
      row.push(Math.min((last[to + 1] ?? 0) + 1, (row[to] ?? 0) + 1, changed, swapped));
    }
    [before, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
