import { Controller, Get, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Probe } from '../platform/routes/route-facts';
import { DatabaseHealth } from '../platform/database/database-health';

const OK = { status: 'ok' } as const;

/** Health checks for load balancers and orchestrators. */
@ApiExcludeController()
@Controller({ version: VERSION_NEUTRAL })
export class HealthController {
  constructor(private readonly database: DatabaseHealth) {}

  /** Returns 200 while the process runs. */
  @Get('livez')
  @Probe()
  livez() {
    return OK;
  }

  /** Returns 200 while the database is available and writable, else 503. */
  @Get('readyz')
  @Probe()
  async readyz() {
    await this.database.ping();
    return OK;
  }
}
