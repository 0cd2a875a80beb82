import { applyDecorators, HttpCode, type Type } from '@nestjs/common';
import { RouteSchema } from '@nestjs/platform-fastify';
import {
  ApiBody,
  ApiExtension,
  ApiExtraModels,
  ApiOperation,
  ApiResponse,
  getSchemaPath,
  type SchemaObject,
} from '@nestjs/swagger';
import type { DefinedError } from '../errors/api-error';
import { commonErrors } from '../errors/common.errors';
import { MAX_ITEMS } from '../lists/page';
import { classFactsOf, membersOutsideEntityTag } from '../fields/validation.pipe';
import { addParameterFacts, ANY_KEY, type PathParams, RequireScope, routeFacts } from '../routes/route-facts';
import { headersOf, LOCATION_OF_TEXT } from './header-catalogue';

/** An operation of the API, as `@Operation` declares it for its route and for the OpenAPI document. */
interface OperationFacts {
  /** The `operationId`. It is unique; generated clients name a method after it. */
  readonly id: string;
  readonly summary: string;
  /** Markdown. The scope is added to it. */
  readonly description: string;
  /** The scope that the key needs, several of which it needs one, or `'any key'`. */
  readonly scope: string | readonly string[];
  /** The successful response: its status, its DTO class (`[Class]` for a list, undefined for 204), its description. */
  readonly returns:
    | readonly [status: 200 | 201, body: Type | readonly [Type], description: string]
    | readonly [status: 204, body: undefined, description: string];
  /** The error codes of this operation only: every operation, every body and `@PathId()` add theirs. */
  readonly rejects?: readonly DefinedError[];
  /** False for a body that soon changes or is not a resource: it has no `ETag`, and clients must not store it. */
  readonly hasEntityTag?: false;
  /**
   * True if the requests of a valid key count in no window, and none is rejected for a limit or a ban. Nothing limits them,
   * so the operation must be as cheap as a 429. @internal
   */
  readonly uncounted?: true;
  /** The most items of a list without pages. Default: the list has pages. */
  readonly maxItems?: number;
  /** The class of the items if the response may be a list instead; `returns` has the class of the object. */
  readonly orList?: Type;
  readonly deprecation?: Deprecation;
  /** The path of the created resource, such as `/accounts/:name`. Default: its `id` below the path of the operation. */
  readonly location?: string;
  /** True for an operation of docs/specification.md. The document marks the others with `x-extension`. */
  readonly isSpecified?: true;
}

/** The time of the announcement (RFC 9745) and of the removal (RFC 8594). */
interface Deprecation {
  readonly since: Date;
  readonly sunset: Date;
  /** Returns the successor of a request, relative to the base URL: `/pets?id=1`. */
  readonly successorOf: (params: PathParams) => string;
}

interface RegisteredOperation extends OperationFacts {
  /** The error codes of this operation, including its parameters and pages. */
  readonly rejects: readonly DefinedError[];
  readonly types: readonly Type<object>[];
  /** The members that are not part of the entity tag; undefined if the response has none. */
  readonly entityTag: readonly string[] | undefined;
  /** True if a client may keep the response, and asks each time whether it is current. */
  readonly isRevalidated: boolean;
}

/** By id, of two operations the second. */
const DECLARED = new Map<string | undefined, RegisteredOperation>();

/** Returns the operation with this id; undefined if its route has no `@Operation`. */
export function findOperation(id: string | undefined): RegisteredOperation | undefined {
  return DECLARED.get(id);
}

/**
 * Declares an operation of the API once: for its route, for its response serializer, which prints only the declared
 * fields of the DTO class, and for the OpenAPI document. `api/openapi/document.ts` adds the responses with its codes.
 */
export function Operation(facts: OperationFacts): MethodDecorator {
  const { id, summary, description, scope, returns, deprecation, location, uncounted } = facts;
  return (target, name, descriptor) => {
    const { rejects, decorators } = addParameterFacts(target, name);
    // TypeScript emits the types of the parameters (`emitDecoratorMetadata`).
    const types: readonly Type<object>[] = Reflect.getMetadata('design:paramtypes', target, name) ?? [];
    const optionalBody = types.find((type) => classFactsOf(type).isOptional);
    const body = isList(returns[1]) ? undefined : returns[1];
    // The tag of a list has all members.
    const outside = body ? membersOutsideEntityTag(body) : [];
    const entityTag = facts.hasEntityTag === false ? undefined : outside;
    const operation = {
      ...facts,
      types,
      entityTag,
      isRevalidated: returns[0] === 200 && entityTag?.length === 0,
      rejects: [
        ...rejects,
        ...(facts.rejects ?? []),
        ...(isPage(facts) ? [commonErrors.invalid_cursor] : []),
      ],
    };
    DECLARED.set(id, operation);
    applyDecorators(
      routeFacts({ entityTag, location, uncounted }),
      RequireScope(scope),
      ApiOperation({
        operationId: id,
        summary,
        description: `${description}\n\n${scopeSentence(scope)}`,
        ...(deprecation && { deprecated: true }),
      }),
      ...(facts.isSpecified ? [] : [ApiExtension('x-extension', true)]),
      ...(deprecation ? [routeFacts({ deprecation: routeFactOf(deprecation) })] : []),
      HttpCode(returns[0]),
      ...responseOf(operation),
      ...(optionalBody ? [ApiBody({ type: optionalBody, required: false })] : []),
      ...decorators,
    )(target, name, descriptor);
  };
}

/** Returns the sentence that ends the description of an operation. */
function scopeSentence(scope: OperationFacts['scope']): string {
  if (scope === ANY_KEY) return 'Every valid key may use it, without a scope.';
  const scopes = [scope].flat().map((each) => `\`${each}\``);
  return `The key needs the scope ${scopes.join(' or ')}.`;
}

function routeFactOf({ since, sunset, successorOf }: Deprecation) {
  const headers = { Deprecation: `@${since.getTime() / 1000}`, Sunset: sunset.toUTCString() };
  return { headers, successorOf };
}

/** The schema of a list, for the serializer. */
function listOf({ name }: Type) {
  return { type: 'array', items: { $ref: `${name}#` } };
}

function responseOf(operation: RegisteredOperation): MethodDecorator[] {
  const { returns, orList, maxItems = MAX_ITEMS } = operation;
  const [status, body, description] = returns;
  const response = { status, description, headers: ownHeaders(operation) };
  if (!body) return [ApiResponse(response)];
  const declare = (content: { type: Type } | { schema: SchemaObject }, sent: object, ...models: Type[]) => [
    ApiExtraModels(...models),
    ApiResponse({ ...response, ...content }),
    RouteSchema({ response: { [status]: sent } }),
  ];
  const documented = (type: Type) => ({ type: 'array', maxItems, items: { $ref: getSchemaPath(type) } });
  if (isList(body)) return declare({ schema: documented(body[0]) }, listOf(body[0]), body[0]);
  const object = { $ref: `${body.name}#` };
  if (!orList) return declare({ type: body }, object);
  const schema = { oneOf: [{ $ref: getSchemaPath(body) }, documented(orList)] };
  // Members of JSON Schema.
  // oxlint-disable-next-line unicorn/no-thenable
  const sent = { if: { type: 'array' }, then: listOf(orList), else: object };
  return declare({ schema }, sent, body, orList);
}

function isList(body: Type | readonly [Type] | undefined): body is readonly [Type] {
  return Array.isArray(body);
}

/** The list of a 201 is what the request has created. */
function isPage({ returns: [status, body], maxItems }: OperationFacts): boolean {
  return status === 200 && isList(body) && maxItems === undefined;
}

/** Refers to the headers that only the successful response has. */
function ownHeaders(operation: RegisteredOperation) {
  const { returns, rejects, deprecation, entityTag, isRevalidated, location } = operation;
  const [status, body] = returns;
  const names = [
    status === 201 && !isList(body) && 'Location',
    isPage(operation) && 'Link',
    body && entityTag && 'ETag',
    isRevalidated && 'Cache-Control',
    rejects.includes(commonErrors.idempotency_key_in_use) && 'Idempotent-Replayed',
    ...(deprecation ? (['Link', 'Deprecation', 'Sunset'] as const) : []),
  ] as const;
  const headers = headersOf(names.flatMap((name) => name || []));
  return { ...headers, ...(location && { Location: LOCATION_OF_TEXT }) };
}
