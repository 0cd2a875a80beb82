import type { Server } from 'node:http';
import { Controller, Get, VERSION_NEUTRAL } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ApiExcludeController } from '@nestjs/swagger';
import { DatabaseHealth } from '../platform/database/database-health';
import { platformErrors } from '../platform/errors/platform.errors';
import { Probe } from '../platform/routes/route-facts';

const OK = { status: 'ok' } as const;

/** Health checks for load balancers and orchestrators. */
@ApiExcludeController()
@Controller({ version: VERSION_NEUTRAL })
export class HealthController {
  constructor(
    private readonly database: DatabaseHealth,
    private readonly host: HttpAdapterHost,
  ) {}

  /** Returns 200 while the process runs. */
  @Get('livez')
  @Probe()
  livez() {
    return OK;
  }

  /** Returns 200 while the service listens and the database is available and writable, else 503. */
  @Get('readyz')
  @Probe()
  async readyz() {
    const server: Server = this.host.httpAdapter.getHttpServer();
    if (!server.listening) throw platformErrors.service_unavailable();
    await this.database.ping();
    return OK;
  }
}
