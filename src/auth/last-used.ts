import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Clock } from '../clock';
import { ApiKeysRepository } from './api-keys.repository';

const MINUTE_MS = 60_000;
const WRITE_INTERVAL_MS = 1_000;

/** Remembers when each key was last used, to the minute: written at most once a minute per key, never in a request. */
@Injectable()
export class LastUsed implements OnModuleInit, OnApplicationShutdown {
  /** Key id → the start of the minute in which it was last seen, in milliseconds. */
  private readonly seen = new Map<string, number>();
  private unwritten = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly keys: ApiKeysRepository,
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

  /** A time that cannot be written now is tried again with the next. */
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
