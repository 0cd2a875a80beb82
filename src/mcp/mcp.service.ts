import { ForbiddenException, Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CONFIG } from '../platform/config/config.token';
import type { Config } from '../platform/config/config';
import { Clock } from '../platform/runtime/clock';
import { RateLimitCheck } from '../rate-limit';
import { createAgentServer } from './agent-server';
import { dispatch } from './dispatch';
import { InProcessGateway } from './in-process.gateway';
import { type Injection, injectInto } from './injection';
import { isAnswered, messagesOf, methodOf } from './messages';
import { loadSdk } from './sdk';
import { sessionOf } from './session';
import type { ApiDocument } from './tools/api-document';
import { type Tool, toolsOf } from './tools/tool';

/** The document, and the tools that are made from it. */
export interface Catalogue {
  readonly info: ApiDocument['info'];
  readonly tools: readonly Tool[];
}

const CALL = 'tools/call';
const ACCEPTED = 202;
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Answers the messages of agents. */
@Injectable()
export class McpService {
  private readonly inject: Injection;
  private readonly origins: readonly string[];
  private catalogue: Promise<Catalogue> | undefined;

  constructor(
    { httpAdapter }: HttpAdapterHost<FastifyAdapter>,
    private readonly limits: RateLimitCheck,
    private readonly clock: Clock,
    @Inject(CONFIG) { corsOrigins, publicBaseUrl }: Config,
  ) {
    this.origins = [...corsOrigins, ...originOf(publicBaseUrl)];
    this.inject = injectInto(httpAdapter.getInstance());
  }

  /**
   * Returns the messages of a body. A request that is rejected as a whole counts once.
   *
   * @throws ForbiddenException if its origin is not known
   * @throws ApiError `validation_failed` for too many messages, or 429
   */
  private async admitted(
    body: unknown,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<readonly unknown[]> {
    try {
      this.requireOrigin(request);
      return messagesOf(body);
    } catch (error) {
      throw (await this.limits.charge(request, reply)) ?? error;
    }
  }

  /**
   * Counts every message that needs a response, and answers it. An operation counts its own call.
   *
   * @param body one message or several, already parsed: integers beyond 2^53 are bigints
   * @throws ApiError 429
   */
  async answer(body: unknown, request: FastifyRequest, reply: FastifyReply): Promise<Response> {
    const answered = (await this.admitted(body, request, reply)).filter(isAnswered);
    // Nothing counts notifications, so they must cost nothing.
    if (answered.length === 0) return new Response(null, { status: ACCEPTED });
    const calls = answered.filter((each) => methodOf(each) === CALL).length;
    await this.charge(answered.length - calls, request, reply);
    const sdk = loadSdk();
    const catalogue = await (this.catalogue ??= this.readCatalogue());
    const gateway = new InProcessGateway(
      this.inject,
      this.limits,
      catalogue,
      request,
      reply,
      sessionOf(request, this.clock.now()),
    );
    const create = () => createAgentServer(sdk, gateway);
    const response = await dispatch(sdk, create, webRequest(request), body);
    // The SDK has rejected the others. After a call that may have had its effect, its result is worth more than the 429.
    const rest = this.charge(calls - gateway.counted, request, reply);
    await (gateway.counted === 0 ? rest : rest.catch(() => undefined));
    return response;
  }

  private async charge(count: number, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    for (let counted = 0; counted < count; counted += 1) {
      const limited = await this.limits.charge(request, reply);
      if (limited) throw limited;
    }
  }

  /**
   * Rejects a request of a page that is not known. The protocol requires it against DNS rebinding, so the name in `Host`
   * proves nothing.
   */
  private requireOrigin({ headers: { origin } }: FastifyRequest): void {
    if (origin === undefined || this.origins.includes(origin) || isLoopback(origin)) return;
    throw new ForbiddenException('This origin may not use the API: add it to CORS_ORIGINS.');
  }

  private async readCatalogue(): Promise<Catalogue> {
    const { body } = await this.inject({ url: '/openapi.json' });
    const document: ApiDocument = JSON.parse(body);
    return { info: document.info, tools: toolsOf(document) };
  }
}

function isLoopback(origin: string): boolean {
  return URL.canParse(origin) && LOOPBACK.has(new URL(origin).hostname);
}

/** A base URL may be a path. */
function originOf(url: string): string[] {
  return URL.canParse(url) ? [new URL(url).origin] : [];
}

/** The SDK reads the headers only. Other bodies than JSON were rejected before. */
function webRequest({ headers }: FastifyRequest): Request {
  const entries = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' ? [[name, value]] : [],
  );
  const init = new Headers(entries);
  init.set('content-type', 'application/json');
  return new Request('http://localhost/mcp', { method: 'POST', headers: init });
}
