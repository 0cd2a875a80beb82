import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { findOperation } from '../api/operation/operation.decorator';
import { ApiError } from '../api/errors/api-error';
import { validationFailed } from '../api/errors/common.errors';
import { isObject, valueAt } from '../api/fields/json';
import { ApiValidationPipe } from '../api/fields/validation.pipe';

/** Longer names are cut. */
const MAX_NAME_LENGTH = 100;
/** Most unknown names that a message has. */
const MAX_UNKNOWN = 100;

/** Rejects what the document does not have, for `Prefer: handling=strict`; always a known parameter with brackets. */
export class StrictHandling {
  private readonly pipe = new ApiValidationPipe();

  /** @param document returns the document, which is made after the guards */
  constructor(private readonly document: () => OpenAPIObject) {}

  /** @throws ApiError `validation_failed` */
  async check(reply: FastifyReply, isStrict: boolean): Promise<void> {
    const { method, routeOptions, query, body } = reply.request;
    const path = (routeOptions.url ?? '').replace(/^\/v1/, '').replaceAll(/:(\w+)/g, '{$1}');
    const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
    const operation = valueAt(this.document(), 'paths', path, verb);
    if (operation === undefined) return;
    if (isStrict) reply.header('Preference-Applied', 'handling=strict');
    const parameters = [valueAt(operation, 'parameters') ?? []].flat();
    const known = parameters.flatMap((each) =>
      valueAt(each, 'in') === 'query' ? String(valueAt(each, 'name')) : [],
    );
    const schema = valueAt(operation, 'requestBody', 'content', 'application/json', 'schema');
    const unknown = Object.keys(Object(query)).filter(
      (name) => !known.includes(name) && (isStrict || known.includes(withoutBrackets(name))),
    );
    const mistakes = unknown.slice(0, MAX_UNKNOWN).map((name) => mistakeOf('query parameter', name, known));
    // Each takes some time, and a body may have thousands.
    for (const each of isStrict ? this.unknown(schema, body) : [])
      if (mistakes.push(each) >= MAX_UNKNOWN) break;
    if (mistakes.length === 0) return;
    // The message also has the mistakes that the validation of the query and the body finds.
    for (const metatype of findOperation(String(valueAt(operation, 'operationId')))?.types ?? []) {
      const fields = this.pipe.validatedFields(metatype);
      const isQuery = fields.length > 0 && fields.every((name) => known.includes(name));
      if (!isQuery && !String(valueAt(schema, '$ref')).endsWith(`/${metatype.name}`)) continue;
      const [value, type] = isQuery ? ([query, 'query'] as const) : ([body, 'body'] as const);
      await this.pipe.transform(value, { type, metatype }).catch((error: unknown) => {
        if (error instanceof ApiError) mistakes.push(...error.mistakes);
      });
    }
    throw validationFailed(mistakes);
  }

  /** @param path names of members and indexes of items, from the body to the value */
  private *unknown(schema: unknown, value: unknown, path: readonly string[] = []): Generator<string> {
    const reference = valueAt(schema, '$ref') ?? valueAt([valueAt(schema, 'allOf')].flat()[0], '$ref');
    const properties = valueAt(schema, 'properties');
    if (typeof reference === 'string')
      yield* this.unknown(valueAt(this.document(), ...reference.split('/').slice(1)), value, path);
    else if (Array.isArray(value)) {
      for (const [index, each] of value.entries())
        yield* this.unknown(valueAt(schema, 'items'), each, [...path, String(index)]);
      // A schema without `properties` accepts any member.
    } else if (isObject(properties) && isObject(value)) {
      const known = Object.keys(properties);
      const unknown = Object.keys(value).filter((name) => !known.includes(name));
      for (const name of unknown) yield mistakeOf('member', name, known, path);
      for (const name of known) yield* this.unknown(properties[name], value[name], [...path, name]);
    }
  }
}

/** Returns the name of a list in another form: `id[]=1`, `id[0]=1`. */
function withoutBrackets(name: string): string {
  return name.replace(/[[\]].*/s, '');
}

function mistakeOf(what: string, sent: string, known: readonly string[], path: readonly string[] = []) {
  const name = sent.slice(0, MAX_NAME_LENGTH).toWellFormed();
  const own = variants(name);
  const near = known.find((other) => variants(other).some((each) => own.includes(each)));
  const list = known.length > 0 ? ` (known are ${known.join(', ')})` : '';
  const hint = near === undefined ? list : ` (did you mean ${near}?)`;
  // The document promises a visible name.
  const visible = name.trim() === '' ? JSON.stringify(name) : name;
  return `${what} ${[...path, visible].join('.')} is unknown${hint}`;
}

/** Lists a name with and without each of its letters. Two names that differ by one letter, or by its place, share one. */
function variants(name: string): string[] {
  const plain = withoutBrackets(name).toLowerCase().replaceAll(/[_-]/g, '');
  return [plain, ...Array.from(plain, (_, index) => plain.slice(0, index) + plain.slice(index + 1))];
}
