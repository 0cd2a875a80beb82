import { Body, Controller, ForbiddenException, Inject, Post, Req, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { ANY_KEY, RequireScope } from '../api/routes/route-facts';
import { CONFIG, type Config } from '../config/config';
import { validationFailed } from '../api/errors/common.errors';
import { McpService } from './mcp.service';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** The address of the Model Context Protocol: Streamable HTTP without sessions. */
@ApiExcludeController()
@Controller({ path: 'mcp', version: VERSION_NEUTRAL })
export class McpController {
  constructor(
    private readonly mcp: McpService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Serves one message. The request is counted, and the operation that the message calls is not.
   *
   * @param message already parsed: integers beyond 2^53 are bigints
   * @throws ApiError `validation_failed` for several messages in an array, which the protocol has removed
   */
  @Post()
  @RequireScope(ANY_KEY)
  serve(@Body() message: unknown, @Req() request: FastifyRequest): Promise<Response> {
    this.requireOrigin(request.headers.origin);
    if (Array.isArray(message)) throw validationFailed(['The body must be one message, not a batch']);
    return this.mcp.respond(message, request);
  }

  /** The protocol requires it against DNS rebinding, so the name in `Host` proves nothing. */
  private requireOrigin(origin: string | undefined): void {
    const { corsOrigins, publicBaseUrl } = this.config;
    if (origin === undefined || corsOrigins.includes(origin)) return;
    if (URL.canParse(origin) && LOOPBACK.has(new URL(origin).hostname)) return;
    // A base URL may be a path.
    if (URL.canParse(publicBaseUrl) && new URL(publicBaseUrl).origin === origin) return;
    throw new ForbiddenException('This origin may not use the API: add it to CORS_ORIGINS.');
  }
}
