import type { FastifyReply } from 'fastify';

/** Printed bodies, for as long as somebody holds their values. */
const printed = new WeakMap<object, string>();

/** Lets a value that several replies of one route share be printed by the first of them, for all. */
export function serializeOnce<T extends object>(reply: FastifyReply, value: T): T {
  const serialize = reply.getSerializationFunction(String(reply.statusCode));
  reply.type('application/json; charset=utf-8').serializer((payload: Record<string, unknown>) => {
    const known = printed.get(payload);
    if (known !== undefined) return known;
    const body = serialize ? serialize(payload) : JSON.stringify(payload);
    printed.set(payload, body);
    return body;
  });
  return value;
}
