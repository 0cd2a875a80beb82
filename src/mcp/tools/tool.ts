import { type ApiDocument, isSchema, type Operation, type Parameter, type Schema } from './api-document';
import { describe, describeParameter } from './description';
import { toJsonSchema } from './json-schema';

/** The definition of a tool, as `tools/list` shows it. */
interface Definition {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: Schema;
  readonly annotations: Readonly<Record<string, boolean>>;
}

/** An operation of the API as agents see it, and what its calls need. */
export interface Tool {
  readonly definition: Definition;
  /** The key needs one of them; none if the list is empty. */
  readonly scopes: readonly string[];
  readonly method: string;
  /** Below the base URL, with `{name}` for each parameter. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** The schemas of all arguments. */
  readonly inputs: Readonly<Record<string, Schema>>;
  readonly body: BodyForm;
}

/** Where the members of the body are: each one an argument, or all in the argument `body`. */
export type BodyForm = 'none' | 'members' | 'whole';

export const IDEMPOTENCY_KEY = 'Idempotency-Key';
const WHOLE_BODY = 'body';

/** The caches of agents do not revalidate. */
const UNUSED_HEADERS = new Set(['if-none-match']);

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Makes one tool of each operation of an OpenAPI document. */
export function toolsOf(document: ApiDocument): Tool[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      return operation?.operationId === undefined
        ? []
        : [toolOf(document, path, method, operation, operation.operationId)];
    }),
  );
}

/** True if a key with these scopes may call the tool. */
export function isAllowed({ scopes }: Tool, granted: readonly string[]): boolean {
  return scopes.length === 0 || scopes.some((scope) => granted.includes(scope));
}

function toolOf(
  document: ApiDocument,
  path: string,
  method: string,
  operation: Operation,
  name: string,
): Tool {
  const parameters = (operation.parameters ?? []).filter(isArgument);
  const ofParameters = parameters.map((each): [string, Schema] => [
    each.name,
    describedBy(toJsonSchema(each.schema ?? {}, document), describeParameter(each)),
  ]);
  const body = bodySchemaOf(operation, document);
  const form = formOf(body, parameters);
  const inputs = Object.fromEntries([...ofParameters, ...bodyInputs(form, body)]);
  const required = parameters.filter((each) => each.required === true).map((each) => each.name);
  return {
    definition: {
      name,
      title: operation.summary ?? name,
      description: describe(operation, parameters),
      inputSchema: {
        type: 'object',
        properties: inputs,
        required: [...required, ...requiredOfBody(form, body, operation)],
        ...(form === 'members' && minimumOf(body, required.length)),
        additionalProperties: false,
      },
      annotations: {
        readOnlyHint: method === 'get',
        destructiveHint: method !== 'get' && method !== 'post',
        idempotentHint: method !== 'post' && method !== 'patch',
        openWorldHint: false,
      },
    },
    scopes: operation['x-required-scopes'] ?? [],
    method: method.toUpperCase(),
    path,
    parameters,
    inputs,
    body: form,
  };
}

function isArgument({ in: place, name }: Parameter): boolean {
  return place !== 'cookie' && !(place === 'header' && UNUSED_HEADERS.has(name.toLowerCase()));
}

function bodySchemaOf({ requestBody }: Operation, document: ApiDocument): Schema | undefined {
  const schema = requestBody?.content['application/json']?.schema;
  return schema && toJsonSchema(schema, document);
}

/** A member with the name of a parameter would hide it: the body is then one argument. */
function formOf(body: Schema | undefined, parameters: readonly Parameter[]): BodyForm {
  if (!body) return 'none';
  const { properties } = body;
  if (!isSchema(properties)) return 'whole';
  return parameters.some(({ name }) => Object.hasOwn(properties, name)) ? 'whole' : 'members';
}

function bodyInputs(form: BodyForm, body: Schema = {}): [string, Schema][] {
  if (form === 'whole') return [[WHOLE_BODY, body]];
  const { properties } = body;
  if (form === 'none' || !isSchema(properties)) return [];
  return Object.entries(properties).flatMap(([name, schema]): [string, Schema][] =>
    isSchema(schema) && schema['readOnly'] !== true ? [[name, schema]] : [],
  );
}

function requiredOfBody(form: BodyForm, body: Schema = {}, { requestBody }: Operation): string[] {
  if (form === 'whole') return requestBody?.required === true ? [WHOLE_BODY] : [];
  const { required } = body;
  return Array.isArray(required) ? required.map(String) : [];
}

/** A change needs at least one member in addition to its parameters. */
function minimumOf(body: Schema | undefined, parameters: number): { minProperties?: number } {
  const minimum = body?.['minProperties'];
  return typeof minimum === 'number' ? { minProperties: parameters + minimum } : {};
}

function describedBy(schema: Schema, description: string | undefined): Schema {
  if (description === undefined) return schema;
  const { description: own } = schema;
  return { ...schema, description: typeof own === 'string' ? `${description} ${own}` : description };
}
