import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/runtime/clock';
import { PeriodicWork } from '../platform/runtime/periodic-work';
import { MINUTE_MS, SECOND_MS } from '../platform/runtime/time';
import { KnownKeysRepository } from './known-keys.repository';

/** Records the minute of each key's last use: at most one write a minute per key, outside of requests. */
@Injectable()
export class LastUsed extends PeriodicWork {
  /** The start of the current minute, in milliseconds, and the keys that were used in it. */
  private minute = 0;
  private readonly seen = new Set<string>();
  /** Key id → start of the minute of its last use. */
  private unwritten = new Map<string, number>();

  constructor(
    private readonly keys: KnownKeysRepository,
    private readonly clock: Clock,
  ) {
    super('Recording the last use of keys', SECOND_MS, true);
  }

  note(keyId: string): void {
    const minute = Math.floor(this.clock.now() / MINUTE_MS) * MINUTE_MS;
    if (minute !== this.minute) this.seen.clear();
    this.minute = minute;
    if (this.seen.has(keyId)) return;
    this.seen.add(keyId);
    this.unwritten.set(keyId, minute);
  }

  /** Writes all new times with one statement. If it fails, the next run retries them. */
  override async run(): Promise<void> {
    const times = this.unwritten;
    this.unwritten = new Map();
    if (times.size === 0) return;
    try {
      await this.keys.recordUse(times);
    } catch (error) {
      this.unwritten = new Map([...times, ...this.unwritten]);
      throw error;
    }
  }
}
