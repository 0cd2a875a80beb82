import type { FastifyReply } from 'fastify';

/** A value as the serializer of the reply's route prints it: the declared fields of its DTO class. */
export function printJson(reply: FastifyReply, value: unknown): string {
  const text = reply.serialize(value);
  if (typeof text !== 'string') throw new Error('a route of the API prints JSON');
  return text;
}
