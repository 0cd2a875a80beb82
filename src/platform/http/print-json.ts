import type { FastifyReply } from 'fastify';

/** Prints a value by the serializer of the route: only the declared fields of its DTO class. */
export function serializeJson(reply: FastifyReply, value: unknown): string {
  const text = reply.serialize(value);
  if (typeof text !== 'string') throw new Error('the serializer of an API route must return text');
  return text;
}
