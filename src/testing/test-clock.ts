import { Clock } from '../platform/runtime/clock';

/** A clock that only a test advances. Like the system's clock it has whole milliseconds. */
export class TestClock extends Clock {
  private time = Date.parse('2026-11-21T12:00:00Z');

  now(): number {
    return this.time;
  }

  advance({ seconds }: { readonly seconds: number }): void {
    this.time += Math.round(seconds * 1_000);
  }
}
