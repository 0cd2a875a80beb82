import { randomUUID } from 'node:crypto';
import { Global, Module } from '@nestjs/common';
import { PeriodicWork } from '../time/periodic-work';
import { SECOND_MS } from '../time/time';
import { Sql } from './sql';

/** Deletes the rows of instances that were killed, too. Versions that run side by side share the table, so it keeps its name. */
const REGISTER = `
  WITH killed AS (
    DELETE FROM rate_limit_instances WHERE seen_at < now() - interval '1 hour'
  )
  INSERT INTO rate_limit_instances (id, seen_at) VALUES ($1, now())
  ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`;

const LEAVE = 'DELETE FROM rate_limit_instances WHERE id = $1';

/** Registers this instance as running until it stops. It is global to stop after the modules that write. */
@Global()
@Module({})
export class RunningInstances extends PeriodicWork {
  private readonly instanceId = randomUUID();

  constructor(private readonly sql: Sql) {
    super('The registration of this instance', 3 * SECOND_MS, true);
  }

  override async onModuleInit(): Promise<void> {
    await this.run();
    await super.onModuleInit();
  }

  override async onApplicationShutdown(): Promise<void> {
    await super.onApplicationShutdown();
    await this.sql.rows(LEAVE, [this.instanceId]).catch(() => undefined);
  }

  override async run(): Promise<void> {
    await this.sql.rows(REGISTER, [this.instanceId]);
  }
}
