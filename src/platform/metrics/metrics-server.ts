import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Registry } from 'prom-client';
import type { Config } from '../config/config';
import { CONFIG } from '../config/config.token';
import type { ApiError } from '../errors/api-error';
import { JSON_TYPE } from '../errors/media-types';
import { methodNotAllowed, platformErrors } from '../errors/platform.errors';
import { listenError, UserError } from '../errors/user-error';

const PATH = '/metrics';
const METHODS = ['GET', 'HEAD'];

/**
 * Serves the metrics on a separate port: they are for the operator, not for the clients of the API. The port opens
 * before the service accepts requests, and closes after the last response.
 */
@Injectable()
export class MetricsServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(MetricsServer.name);
  private readonly server = createServer((request, response) => this.respond(request, response));

  constructor(
    private readonly registry: Registry,
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

  private respond(request: IncomingMessage, response: ServerResponse): void {
    const error = errorOf(request);
    if (error) {
      sendError(response, error);
      return;
    }
    this.registry.metrics().then(
      (text) => response.writeHead(200, { 'Content-Type': this.registry.contentType }).end(text),
      (failure: unknown) => {
        this.logger.error(failure);
        sendError(response, platformErrors.internal_error());
      },
    );
  }
}

function errorOf({ url = '', method = '' }: IncomingMessage): ApiError | undefined {
  if (url.split('?', 1).join() !== PATH) return platformErrors.route_not_found();
  return METHODS.includes(method) ? undefined : methodNotAllowed(METHODS.join(', '));
}

function sendError(response: ServerResponse, error: ApiError): void {
  const headers = { ...error.headers, 'Content-Type': JSON_TYPE };
  response.writeHead(error.status, headers).end(error.body);
}
