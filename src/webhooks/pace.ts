import { setTimeout as sleep } from 'node:timers/promises';
import { Semaphore } from '../platform/runtime/semaphore';
import type { Lane } from './webhooks.repository';

/** Between two deliveries of a lane: in an idle process, and at most. */
const MIN_GAP_MS = 2;
const MAX_GAP_MS = 50;
/** The weight of the newest measurement in the moving average. */
const WEIGHT = 0.1;

/** Spaces deliveries, which share the event loop with the API: the busier it is, the more. */
export class Pace {
  private readonly lanes = { fast: new Semaphore(1), slow: new Semaphore(1), failing: new Semaphore(1) };
  private used = performance.eventLoopUtilization();
  /** The part of the time in which the event loop works. */
  private load = 0;

  /** Waits until the next delivery of a lane may begin. */
  next(lane: Lane): Promise<void> {
    return this.lanes[lane].run(async () => {
      await sleep(this.gapMs);
      const used = performance.eventLoopUtilization();
      this.load += WEIGHT * (performance.eventLoopUtilization(used, this.used).utilization - this.load);
      this.used = used;
    });
  }

  /** Returns how many more fast deliveries can begin within a time. */
  room(inMs: number): number {
    return Math.ceil(inMs / this.gapMs) - this.lanes.fast.length;
  }

  private get gapMs(): number {
    return Math.min(MIN_GAP_MS / (1 - this.load) ** 3, MAX_GAP_MS);
  }
}
