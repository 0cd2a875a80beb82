import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Registry } from 'prom-client';
import type { Config } from '../../platform/config/config';
import { CONFIG } from '../../platform/config/config.token';
import { DatabaseHealth } from '../../platform/database/database-health';
import { JSON_TYPE } from '../../platform/errors/media-types';
import { platformErrors } from '../../platform/errors/platform.errors';
import { listenError, UserError } from '../../platform/errors/user-error';
import { toApiError } from '../error.filter';

type Content = readonly [type: string, text: string];

const HEALTHY: Content = [JSON_TYPE, '{"status":"ok"}'];

/**
 * Serves the metrics and the health checks on a separate port, for the operator and not for the clients of the API: a
 * new connection waits for none of theirs. The port opens before the service accepts requests, and closes after the last
 * response.
 */
@Injectable()
export class MetricsServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(MetricsServer.name);
  private readonly server = createServer((request, response) => void this.respond(request, response));
  private readonly contents = new Map<string, () => Promise<Content>>([
    ['/metrics', async () => [this.registry.contentType, await this.registry.metrics()]],
    ['/livez', async () => HEALTHY],
    ['/readyz', () => this.readyz()],
  ]);

  constructor(
    private readonly registry: Registry,
    private readonly database: DatabaseHealth,
    private readonly host: HttpAdapterHost,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** @throws UserError if the port cannot be opened */
  async onApplicationBootstrap(): Promise<void> {
    const { port, metricsHost, metricsPort = 0 } = this.config;
    if (metricsPort === port && port !== 0) {
      throw new UserError(`METRICS_PORT and PORT are both ${port}: set METRICS_PORT to another port.`);
    }
    this.server.listen({ host: metricsHost, port: metricsPort });
    try {
      await once(this.server, 'listening');
    } catch (error) {
      throw listenError(error, metricsHost, metricsPort, { host: 'METRICS_HOST', port: 'METRICS_PORT' });
    }
  }

  onApplicationShutdown(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  /** The port of the listener; METRICS_PORT=0 takes a free one. */
  get port(): number | undefined {
    const address = this.server.address();
    return typeof address === 'object' ? address?.port : undefined;
  }

  private async respond({ url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const content = this.contents.get(url.split('?', 1).join());
      if (!content) throw platformErrors.route_not_found();
      const [type, text] = await content();
      response.writeHead(200, { 'Content-Type': type }).end(text);
    } catch (failure) {
      const error = toApiError(failure);
      if (error !== failure) this.logger.error(failure);
      else if (error.cause !== undefined) this.logger.warn(error.cause);
      response.writeHead(error.status, { ...error.headers, 'Content-Type': JSON_TYPE }).end(error.body);
    }
  }

  private async readyz(): Promise<Content> {
    const server: Server = this.host.httpAdapter.getHttpServer();
    if (!server.listening) throw platformErrors.service_unavailable();
    await this.database.ping();
    return HEALTHY;
  }
}
