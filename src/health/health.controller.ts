import { Controller, Get, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../auth';
import { DatabaseHealth } from '../database/database-health';
import { serviceUnavailable } from '../errors/http.errors';

const OK = { status: 'ok' } as const;

/** For whoever runs the service: load balancers and orchestrators. */
@ApiExcludeController()
@Controller({ version: VERSION_NEUTRAL })
export class HealthController {
  constructor(private readonly database: DatabaseHealth) {}

  /** 200 while the process lives. */
  @Get('livez')
  @Public()
  livez() {
    return OK;
  }

  /** 200 while everything that a request needs is there, else 503. */
  @Get('readyz')
  @Public()
  async readyz() {
    await this.database.ping().catch((cause: unknown) => {
      // The answer is 503 whatever is wrong with the database; the log has what it was.
      throw Object.assign(serviceUnavailable(), { cause });
    });
    return OK;
  }
}
