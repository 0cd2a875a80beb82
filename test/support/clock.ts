import { Clock } from '../../src/clock';

/** A clock that stands still until a spec moves it. Like the system's it shows whole milliseconds. */
export class TestClock extends Clock {
  private time = Date.parse('2026-11-21T12:00:00Z');

  now(): number {
    return this.time;
  }

  advance({ seconds }: { seconds: number }): void {
    this.time += Math.round(seconds * 1_000);
  }
}
