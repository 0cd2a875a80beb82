import { randomUUID } from 'node:crypto';
import { Body, Controller, HttpCode, Post, Req, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RequireScope } from '../auth';
import { ANY_KEY } from '../platform/api-docs/required-scopes';
import { Uncounted } from '../platform/api-docs/uncounted.decorator';
import { MCP_PATH } from './body-charges';
import { McpService } from './mcp.service';
import { methodOf } from './messages';

/** The address of the Model Context Protocol: Streamable HTTP without sessions. */
@ApiExcludeController()
@Controller({ path: MCP_PATH, version: VERSION_NEUTRAL })
export class McpController {
  constructor(private readonly mcp: McpService) {}

  /** Serves one message. Its messages are counted instead of the request: `McpService.answer`, `BodyCharges`. */
  @Post()
  @HttpCode(200)
  @Uncounted()
  @RequireScope(ANY_KEY)
  async serve(
    @Body() body: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    const response = await this.mcp.answer(body, request, reply);
    // It is not stored. It makes the call ids of two clients differ. The latest revision has no sessions.
    if ([body].flat().some((each) => methodOf(each) === 'initialize'))
      reply.header('Mcp-Session-Id', randomUUID());
    reply.code(response.status).header('Cache-Control', 'no-store');
    const type = response.headers.get('content-type');
    if (type !== null) reply.header('Content-Type', type);
    return response.text();
  }
}
