import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { IncomingHttpHeaders } from 'node:http';
import { createParamDecorator, type ExecutionContext, type Type } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { REQUEST_HEADERS } from '../operation/header-catalogue';
import { commonErrors } from '../errors/common.errors';
import { addParameterFacts } from '../routes/route-facts';
import { membersOutsideEntityTag } from '../fields/validation.pipe';

/**
 * Compares the current state of a resource with the one that the client has seen, inside the transaction that has
 * locked it. A resource that clients see in two forms has two representations.
 *
 * @throws ApiError `precondition_failed`
 */
export interface Precondition<T> {
  (...representations: readonly T[]): void;
  /** True if the request has `If-Match`. */
  readonly isGiven: boolean;
}

/** True if a resource has each value of a change: it was made before, and its response was lost (RFC 9110, 13.1.1). */
export function isInForce(change: object, resource: object): boolean {
  const current = new Map<string, unknown>(Object.entries(resource));
  return Object.entries(change).every(
    ([name, value]) => value === undefined || isDeepStrictEqual(value, current.get(name)),
  );
}

/** Prints a value by the serializer of the route: only the declared fields of its DTO class. */
export function serializeJson(reply: FastifyReply, value: unknown): string {
  const serialized = reply.serialize(value);
  // Fastify's type allows bytes, too.
  if (typeof serialized !== 'string') throw new Error('the serializer of an API route must return text');
  return serialized;
}

/**
 * Computes a strong entity tag (RFC 9110, 8.8.3): a hash of the bytes.
 *
 * @param without members of the JSON object that are not part of it
 */
export function entityTagOf(bytes: string | Buffer, without: readonly string[] = []): string {
  const skip = (name: string, value: unknown) => (without.includes(name) ? undefined : value);
  const tagged = without.length > 0 ? JSON.stringify(JSON.parse(String(bytes)), skip) : bytes;
  return `"${hash('sha256', tagged, 'base64url')}"`;
}

/**
 * Injects `If-Match` of a change (RFC 9110, 13.1.1) as a `Precondition`, and documents it.
 *
 * @param type the class of the response of GET
 */
export function IfMatch(type: Type<object>): ParameterDecorator {
  // Fastify keeps one serializer for each of these objects.
  const schema = { $ref: `${type.name}#` };
  const without = membersOutsideEntityTag(type);
  const inject = createParamDecorator((_data: unknown, context: ExecutionContext): Precondition<object> => {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    const { 'if-match': condition } = reply.request.headers;
    const tagOf = (resource: object) =>
      entityTagOf(reply.serializeInput(Object.fromEntries(Object.entries(resource)), schema), without);
    const check = (...representations: readonly object[]): void => {
      if (condition === undefined || representations.some((each) => listsTag(condition, tagOf(each)))) return;
      throw commonErrors.precondition_failed();
    };
    return Object.assign(check, { isGiven: condition !== undefined });
  });
  return (target, key = '', index) => {
    inject()(target, key, index);
    const decorators = [ApiHeader(REQUEST_HEADERS.ifMatch)];
    addParameterFacts(target, key, { decorators, rejects: [commonErrors.precondition_failed] });
  };
}

/** True if `If-None-Match` names this entity tag (RFC 9110, 13.1.2, weak comparison); the response is then 304. */
export function isNotModified({ 'if-none-match': condition }: IncomingHttpHeaders, tag: string): boolean {
  return condition !== undefined && listsTag(condition.replaceAll('W/"', '"'), tag);
}

/** @param condition `*`, or a comma-separated list of entity tags; the service's own tags contain no comma */
function listsTag(condition: string, tag: string): boolean {
  // Apache appends the suffix when it compresses a response.
  const members = condition.split(',').map((member) => member.trim().replace(/-gzip"$/, '"'));
  return members.includes(tag) || condition.trim() === '*';
}
