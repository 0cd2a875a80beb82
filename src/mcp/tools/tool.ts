import type { Tool as Definition } from '@modelcontextprotocol/server';
import type { OperationObject, ParameterObject } from '@nestjs/swagger';
import { isObject } from '../../api/fields/json';
import { type Schema, type Schemas, toJsonSchema } from './json-schema';

/** The parts of an OpenAPI 3.0 document that tools are made from, as they are in its JSON. */
export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation | undefined>>>>;
  readonly components?: { readonly schemas?: Schemas };
}

interface Operation extends Pick<OperationObject, 'summary' | 'description' | 'deprecated' | 'responses'> {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Readonly<Record<string, { readonly schema?: Schema }>>;
  };
  readonly 'x-required-scopes'?: readonly string[];
}

interface Parameter extends Pick<ParameterObject, 'name' | 'in' | 'required' | 'description'> {
  readonly schema?: Schema;
}

export interface Input {
  readonly name: string;
  /** Where the request has it: also as a member of the body, or as the whole body. */
  readonly place: Parameter['in'] | 'member' | 'body';
  readonly isRequired: boolean;
  readonly schema: Schema;
}

/** An operation of the API as agents see it, and what its calls need. */
export interface Tool {
  readonly definition: Definition;
  /** The key needs one of them; none if the list is empty. */
  readonly scopes: readonly string[];
  readonly method: Method;
  /** Below the base URL, with `{name}` for each parameter. */
  readonly path: string;
  readonly inputs: readonly Input[];
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
type Method = (typeof METHODS)[number];

export function toolsOf({ paths, components }: ApiDocument): Tool[] {
  const schemas = components?.schemas ?? {};
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      return operation ? [toolOf(schemas, path, method, operation)] : [];
    }),
  );
}

function toolOf(schemas: Schemas, path: string, method: Method, operation: Operation): Tool {
  const { operationId: name, summary: title = name, 'x-required-scopes': scopes = [] } = operation;
  const parameters = (operation.parameters ?? [])
    // The only component is `If-None-Match`; the caches of agents do not revalidate.
    .filter((each) => 'in' in each)
    .map((each) => parameterInput(each, schemas));
  const inputs = [...parameters, ...bodyInputs(operation, parameters, schemas)];
  const properties: unknown = Object.fromEntries(inputs.map((input) => [input.name, input.schema]));
  return {
    definition: {
      name,
      title,
      description: describe(operation, inputs),
      inputSchema: {
        type: 'object',
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        properties: properties as Definition['inputSchema']['properties'],
        required: inputs.filter(({ isRequired }) => isRequired).map((input) => input.name),
        additionalProperties: false,
      },
      annotations: {
        readOnlyHint: method === 'get',
        // A creation destroys nothing. Another POST, such as the rotation of a secret, does.
        destructiveHint: method !== 'get' && !('201' in operation.responses),
        idempotentHint: method !== 'post' && method !== 'patch',
      },
    },
    scopes,
    method,
    path,
    inputs,
  };
}

function parameterInput(parameter: Parameter, schemas: Schemas): Input {
  const { name, in: place, required: isRequired = false } = parameter;
  const schema = toJsonSchema(parameter.schema ?? {}, schemas);
  const texts = [parameter.description, schema['description']];
  const description = texts.filter((text) => typeof text === 'string').join(' ');
  return { name, place, isRequired, schema: { ...schema, ...(description !== '' && { description }) } };
}

/** Each member is an argument; a member with the name of a parameter would hide it: the body is then one argument. */
function bodyInputs({ requestBody }: Operation, parameters: readonly Input[], schemas: Schemas): Input[] {
  const source = requestBody?.content['application/json']?.schema;
  if (!source) return [];
  const schema = toJsonSchema(source, schemas);
  const { properties, required } = schema;
  if (!isObject(properties) || parameters.some(({ name }) => Object.hasOwn(properties, name))) {
    return [{ name: 'body', place: 'body', isRequired: requestBody?.required === true, schema }];
  }
  const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name);
  return Object.entries(properties).flatMap(([name, member]): Input[] =>
    isObject(member) && member['readOnly'] !== true
      ? [{ name, place: 'member', isRequired: isRequired(name), schema: member }]
      : [],
  );
}

/** Describes an operation for an agent: what it does, what a call costs, and how to page. */
function describe(operation: Operation, inputs: readonly Input[]): string {
  const { summary = '', description = summary } = operation;
  // The document explains it by the header `Link`, which agents do not see.
  const isPage = inputs.some(({ name }) => name === 'cursor');
  return [
    description,
    'A call of this tool counts as one request in the minute and in the day of the account.',
    operation.deprecated && 'Deprecated.',
    isPage && 'If more items follow, the result names the `cursor` of the next page.',
  ]
    .filter((text) => typeof text === 'string')
    .join('\n\n');
}
