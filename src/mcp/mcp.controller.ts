import { randomUUID } from 'node:crypto';
import { Body, Controller, HttpCode, Post, Req, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RequireScope } from '../auth';
import { ANY_KEY } from '../platform/api-docs/required-scopes';
import { McpService } from './mcp.service';
import { methodOf } from './messages';

/** The address of the Model Context Protocol: Streamable HTTP without sessions. */
@ApiExcludeController()
@Controller({ path: 'mcp', version: VERSION_NEUTRAL })
export class McpController {
  constructor(private readonly mcp: McpService) {}

  /** Serves one message. The request is counted, and the operation that the message calls is not. */
  @Post()
  @HttpCode(200)
  @RequireScope(ANY_KEY)
  async serve(
    @Body() body: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    const response = await this.mcp.answer(body, request);
    // It is not stored. It makes the call ids of two clients differ. The latest revision has no sessions.
    if (methodOf(body) === 'initialize') reply.header('Mcp-Session-Id', randomUUID());
    reply.code(response.status).header('Cache-Control', 'no-store');
    const type = response.headers.get('content-type');
    if (type !== null) reply.header('Content-Type', type);
    return response.text();
  }
}
