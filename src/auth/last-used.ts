import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Clock } from '../platform/runtime/clock';
import { MINUTE_MS, SECOND_MS } from '../platform/runtime/time';
import { KnownKeysRepository } from './known-keys.repository';

const WRITE_INTERVAL_MS = SECOND_MS;

/** Records the minute of each key's last use: at most one write a minute per key, outside of requests. */
@Injectable()
export class LastUsed implements OnModuleInit, OnApplicationShutdown {
  /** Key id → start of the minute of its last use, in milliseconds. */
  private readonly seen = new Map<string, number>();
  private unwritten = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly keys: KnownKeysRepository,
    private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    this.timer = setInterval(() => void this.write(), WRITE_INTERVAL_MS).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.write();
  }

  note(keyId: string): void {
    const minute = Math.floor(this.clock.now() / MINUTE_MS) * MINUTE_MS;
    if (this.seen.get(keyId) === minute) return;
    this.seen.set(keyId, minute);
    this.unwritten.set(keyId, minute);
  }

  /** Writes all new times with one statement. If it fails, the next call retries them. */
  async write(): Promise<void> {
    const times = this.unwritten;
    this.unwritten = new Map();
    this.forgetOld();
    if (times.size === 0) return;
    try {
      await this.keys.recordUse(times);
    } catch {
      this.unwritten = new Map([...times, ...this.unwritten]);
    }
  }

  private forgetOld(): void {
    const oldest = this.clock.now() - MINUTE_MS;
    for (const [keyId, minute] of this.seen) if (minute < oldest) this.seen.delete(keyId);
  }
}
