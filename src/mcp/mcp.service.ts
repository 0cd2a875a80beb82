import { ForbiddenException, Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { CONFIG } from '../platform/config/config.token';
import type { Config } from '../platform/config/config';
import { validationFailed } from '../platform/errors/platform.errors';
import { Clock } from '../platform/runtime/clock';
import { createAgentServer } from './agent-server';
import { dispatch } from './dispatch';
import { InProcessGateway } from './in-process.gateway';
import { type Injection, injectInto } from './injection';
import { isAnswered } from './messages';
import { loadSdk } from './sdk';
import { sessionOf } from './session';
import type { ApiDocument } from './tools/api-document';
import { type Tool, toolsOf } from './tools/tool';

/** The document, and the tools that are made from it. */
export interface Catalogue {
  readonly info: ApiDocument['info'];
  readonly tools: readonly Tool[];
}

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
    private readonly clock: Clock,
    @Inject(CONFIG) { corsOrigins, publicBaseUrl }: Config,
  ) {
    this.origins = [...corsOrigins, ...originOf(publicBaseUrl)];
    this.inject = injectInto(httpAdapter.getInstance());
  }

  /**
   * Answers a message.
   *
   * @param body already parsed: integers beyond 2^53 are bigints
   * @throws ForbiddenException if its origin is not known
   * @throws ApiError `validation_failed` for several messages in an array, which the protocol has removed
   */
  async answer(body: unknown, request: FastifyRequest): Promise<Response> {
    this.requireOrigin(request);
    if (Array.isArray(body)) {
      throw validationFailed([
        { pointer: '#', detail: 'The body must be one message: batches were removed' },
      ]);
    }
    if (!isAnswered(body)) return new Response(null, { status: ACCEPTED });
    const sdk = loadSdk();
    const catalogue = await (this.catalogue ??= this.readCatalogue());
    const session = sessionOf(request, this.clock.now());
    const gateway = new InProcessGateway(this.inject, catalogue, request, session);
    return dispatch(sdk, () => createAgentServer(sdk, gateway), webRequest(request), body);
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
