import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiError } from '../errors/api-error';

/** A request check. It returns the error of a rejected request, and throws only on an internal failure. */
export type RequestCheck = (
  request: FastifyRequest,
  reply: FastifyReply,
) => ApiError | undefined | Promise<ApiError | undefined>;
