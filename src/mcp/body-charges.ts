import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { RateLimitCheck } from '../rate-limit';

/** The path of the Model Context Protocol. */
export const MCP_PATH = 'mcp';

/** Most calls are shorter. */
const SHORT_BODY_BYTES = 4_096;

/** Counts requests whose body is rejected. The route is uncounted, and they have no message that could be counted. */
@Injectable()
export class BodyCharges {
  constructor(
    { httpAdapter }: HttpAdapterHost<FastifyAdapter>,
    private readonly limits: RateLimitCheck,
  ) {
    httpAdapter.getInstance().addHook('onRoute', (route) => {
      if (route.url !== `/${MCP_PATH}` || route.method !== 'POST') return;
      route.preParsing = (request, reply) => this.requireRoom(request, reply);
      // Fastify awaits it; only its type does not say so.
      // oxlint-disable-next-line typescript/no-misused-promises
      route.errorHandler = (error, request, reply) => this.charge(error, request, reply);
    });
  }

  /**
   * Rejects a long body, unless a request is left: to parse it costs a hundred times as much as a 429. A short one is
   * parsed, because a call of a tool gets its 429 as the result of the tool.
   *
   * @throws ApiError 429
   */
  private async requireRoom(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const length = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY);
    if (length <= SHORT_BODY_BYTES || hasRoom(request)) return;
    const limited = await this.limits.charge(request, reply);
    if (limited) throw limited;
  }

  private async charge(error: FastifyError, request: FastifyRequest, reply: FastifyReply): Promise<never> {
    if (!request.isAdmitted || request.rateLimit) throw error;
    throw (await this.limits.charge(request, reply)) ?? error;
  }
}

function hasRoom({ standing }: FastifyRequest): boolean {
  if (!standing || standing.bannedUntil !== undefined) return false;
  const { minute, day } = standing.windows;
  return minute.remaining > 0 && (day === undefined || day.remaining > 0);
}
