import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { validationFailed } from '../platform/errors/platform.errors';
import { asSentence, firstProblems, inBody, type Problem } from '../platform/errors/problem-details';
import { isObject } from '../platform/validation/validation.pipe';

/** The first preference of this name counts (RFC 7240, section 2). */
const HANDLING = /(?:^|,)\s*handling\s*=\s*"?(\w*)/i;
/** Longer names are cut. */
const MAX_NAME_LENGTH = 100;

/** Rejects what the document does not have, for `Prefer: handling=strict`. It runs after the guard that reads the body. */
@Injectable()
export class StrictHandling implements CanActivate {
  private document: OpenAPIObject | undefined;

  /** Sets the document. It is created from the modules, of which this guard is a part. */
  follow(document: OpenAPIObject): void {
    this.document = document;
  }

  /** @throws ApiError `validation_failed` */
  canActivate(context: ExecutionContext): true {
    const http = context.switchToHttp();
    const { headers, method, routeOptions, query, body } = http.getRequest<FastifyRequest>();
    if (HANDLING.exec(String(headers['prefer']))?.[1]?.toLowerCase() !== 'strict') return true;
    const path = (routeOptions.url ?? '').replace(/^\/v1/, '').replaceAll(/:(\w+)/g, '{$1}');
    const operation = at(this.document, 'paths', path, method === 'HEAD' ? 'get' : method.toLowerCase());
    if (operation === undefined) return true;
    http.getResponse<FastifyReply>().header('Preference-Applied', 'handling=strict');
    const parameters = [at(operation, 'parameters') ?? []]
      .flat()
      .filter((each) => at(each, 'in') === 'query');
    const properties = Object.fromEntries(parameters.map((each) => [String(at(each, 'name')), {}]));
    const schema = at(operation, 'requestBody', 'content', 'application/json', 'schema');
    const problems = [
      ...firstProblems(this.unknown({ properties }, query)),
      ...firstProblems(this.unknown(schema, body, [])),
    ];
    if (problems.length === 0) return true;
    throw validationFailed(problems, problems.map(({ detail }) => asSentence(detail)).join(' '));
  }

  /** @param path names of members and indexes of items, from the body to the value; undefined for a query */
  private *unknown(schema: unknown, value: unknown, path?: readonly string[]): Generator<Problem> {
    const reference = at(schema, '$ref') ?? at([at(schema, 'allOf')].flat()[0], '$ref');
    if (typeof reference === 'string') {
      yield* this.unknown(at(this.document, ...reference.split('/').slice(1)), value, path);
      return;
    }
    if (Array.isArray(value) && path) {
      const items = at(schema, 'items');
      for (const [index, each] of value.entries()) yield* this.unknown(items, each, [...path, String(index)]);
    }
    const properties = at(schema, 'properties');
    // A schema without `properties` accepts any member.
    if (!isObject(properties) || !isObject(value)) return;
    const known = Object.keys(properties);
    for (const name of Object.keys(value)) if (!known.includes(name)) yield problemOf(name, known, path);
    if (!path) return;
    for (const name of known) yield* this.unknown(properties[name], value[name], [...path, name]);
  }
}

/** Returns the value at a path of members; undefined if there is none. */
function at(node: unknown, ...path: readonly string[]): unknown {
  return path.reduce((value, name) => (isObject(value) ? value[name] : undefined), node);
}

function problemOf(given: string, known: readonly string[], path?: readonly string[]): Problem {
  // The document promises a visible name.
  const name = given.trim() === '' ? JSON.stringify(given) : given.slice(0, MAX_NAME_LENGTH).toWellFormed();
  const own = variants(name);
  const near = known.find((other) => variants(other).some((each) => own.includes(each)));
  const hint = near === undefined ? '' : `; did you mean ${near}?`;
  if (!path) return { parameter: name, detail: `There is no query parameter ${name}${hint}` };
  return { ...inBody([...path, name]), detail: `There is no member ${[...path, name].join('.')}${hint}` };
}

/** Lists a name with and without each of its letters. Two names that differ by one letter, or by its place, share one. */
function variants(name: string): string[] {
  const plain = name.toLowerCase().replaceAll(/[_-]/g, '');
  return [plain, ...Array.from(plain, (_, index) => plain.slice(0, index) + plain.slice(index + 1))];
}
