import { Clock } from '../../src/platform/runtime/clock';

/** A clock that only a spec advances. Like the system's clock it has whole milliseconds. */
export class TestClock extends Clock {
  private time = Date.parse('2026-11-21T12:00:00Z');

  now(): number {
    return this.time;
  }

  advance({ seconds }: { seconds: number }): void {
    this.time += Math.round(seconds * 1_000);
  }
}
