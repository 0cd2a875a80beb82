import type { TestApp } from './app';

export { TestClock } from '../../src/testing/test-store';

/** Sets the clock of an application to that of its database, or days after it. The clock of this machine may differ. */
export async function followDatabase({ clock, database }: TestApp, days = 0): Promise<void> {
  const [row] = await database.query<{ ms: number }>('SELECT extract(epoch FROM now())::float8 * 1000 AS ms');
  clock.advance({ seconds: (row!.ms - clock.now()) / 1_000 + days * 86_400 });
}
