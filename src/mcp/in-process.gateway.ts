import { context, propagation } from '@opentelemetry/api';
import type { FastifyRequest } from 'fastify';
import type { Gateway } from './agent-server';
import type { Injection } from './injection';
import type { Catalogue } from './mcp.service';
import type { ApiCall, ApiResponse } from './tools/api-call';

const BASE_PATH = '/v1';

/** The headers of the agent's request that its calls have, too. */
const FORWARDED_HEADERS = ['authorization', 'user-agent', 'x-forwarded-for', 'x-forwarded-proto'];

/** Sends calls through every guard of this process, without a second connection. */
export class InProcessGateway implements Gateway {
  constructor(
    private readonly inject: Injection,
    private readonly catalogue: Catalogue,
    private readonly request: FastifyRequest,
    readonly session: string,
  ) {}

  get info() {
    return this.catalogue.info;
  }

  get tools() {
    return this.catalogue.tools;
  }

  scopes(): Promise<readonly string[]> {
    return Promise.resolve(this.request.principal?.scopes ?? []);
  }

  async send({ method, path, headers, body }: ApiCall): Promise<ApiResponse> {
    const { id, raw } = this.request;
    const response = await this.inject({
      method,
      url: BASE_PATH + path,
      headers: { ...this.ownHeaders(), ...headers, 'x-request-id': id },
      remoteAddress: raw.socket.remoteAddress ?? '',
      ...(body !== undefined && { payload: body }),
    });
    const received: ApiResponse['headers'] = Object.fromEntries(
      Object.entries(response.headers).map(([name, value]) => [name, value?.toString()]),
    );
    return { status: response.statusCode, headers: received, body: response.body };
  }

  private ownHeaders(): Record<string, string | string[]> {
    const headers: Record<string, string | string[]> = {};
    for (const name of FORWARDED_HEADERS) {
      const value = this.request.headers[name];
      if (value !== undefined) headers[name] = value;
    }
    // Without an SDK for traces this adds nothing.
    propagation.inject(context.active(), headers);
    return headers;
  }
}
