import { context, propagation } from '@opentelemetry/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiError } from '../platform/errors/api-error';
import type { RateLimitCheck } from '../rate-limit';
import type { Gateway } from './agent-server';
import type { Injection } from './injection';
import type { Catalogue } from './mcp.service';
import type { ApiCall, ApiResponse } from './tools/api-call';

const BASE_PATH = '/v1';

/** The headers of a call that the agent's own response shows, too. */
const LIMIT_HEADERS = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'ratelimit',
  'ratelimit-policy',
];

/** The headers of the agent's request that its calls have, too. */
const FORWARDED_HEADERS = ['authorization', 'user-agent', 'x-forwarded-for', 'x-forwarded-proto'];

/** Sends calls through every request check of this process, without a second connection. */
export class InProcessGateway implements Gateway {
  /** The calls that an operation or `charge` has counted. */
  counted = 0;

  constructor(
    private readonly inject: Injection,
    private readonly limits: RateLimitCheck,
    private readonly catalogue: Catalogue,
    private readonly request: FastifyRequest,
    private readonly reply: FastifyReply,
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
    this.counted += 1;
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
    for (const name of LIMIT_HEADERS) {
      if (received[name] !== undefined) this.reply.header(name, received[name]);
    }
    return { status: response.statusCode, headers: received, body: response.body };
  }

  async charge(): Promise<ApiError | undefined> {
    this.counted += 1;
    return this.limits.charge(this.request, this.reply);
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
