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
import { errorBody, JSON_TYPE } from '../errors/error-reply';
import { internalError, methodNotAllowed, routeNotFound } from '../errors/http.errors';
import { metricsPortIsPort, metricsPortRefused } from './metrics.errors';

const PATH = '/metrics';
const METHODS = ['GET', 'HEAD'];

/**
 * Serves the metrics on a port of their own: they are for whoever runs the service and not for its clients. It is
 * open before the service takes requests, and until it has answered the last one.
 */
@Injectable()
export class MetricsServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(MetricsServer.name);
  private readonly server = createServer((request, response) => this.answer(request, response));

  constructor(
    private readonly registry: Registry,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** @throws MetricsPortError where the port cannot be had */
  async onApplicationBootstrap(): Promise<void> {
    const { port, metricsHost, metricsPort = 0 } = this.config;
    if (metricsPort === port && port !== 0) throw metricsPortIsPort(port);
    this.server.listen({ host: metricsHost, port: metricsPort });
    try {
      await once(this.server, 'listening');
    } catch (error) {
      throw metricsPortRefused(metricsHost, metricsPort, error);
    }
  }

  onApplicationShutdown(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  /** The port it listens on; METRICS_PORT=0 takes a free one. */
  get port(): number | undefined {
    const address = this.server.address();
    return typeof address === 'object' ? address?.port : undefined;
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const refusal = refusalOf(request);
    if (refusal) {
      refuse(response, refusal);
      return;
    }
    this.registry.metrics().then(
      (text) => response.writeHead(200, { 'Content-Type': this.registry.contentType }).end(text),
      (error: unknown) => {
        this.logger.error(error);
        refuse(response, internalError());
      },
    );
  }
}

function refusalOf({ url = '', method = '' }: IncomingMessage): ApiError | undefined {
  if (url.split('?', 1).join() !== PATH) return routeNotFound();
  return METHODS.includes(method) ? undefined : methodNotAllowed(METHODS.join(', '));
}

function refuse(response: ServerResponse, error: ApiError): void {
  const headers = { ...error.headers, 'Content-Type': JSON_TYPE };
  response.writeHead(error.status, headers).end(errorBody(error));
}
