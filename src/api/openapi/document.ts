import { STATUS_CODES } from 'node:http';
import { type INestApplication, Logger } from '@nestjs/common';
import {
  getSchemaPath,
  type OpenAPIObject,
  type OperationObject,
  type ResponseObject,
  SwaggerModule,
} from '@nestjs/swagger';
import { stringify } from 'lossless-json';
import type { Config } from '../../config/config';
import { UserError } from '../../config/user-error';
import type { DefinedError } from '../errors/api-error';
import { commonCodes, commonErrors, defaultCodes } from '../errors/common.errors';
import type { EventTypes, Extension } from '../extension/extension';
import { isObject, valueAt } from '../fields/json';
import { classFactsOf } from '../fields/validation.pipe';
import { COMPONENT_HEADERS, headersOf, LOCATION_OF_TEXT } from '../operation/header-catalogue';
import { findOperation } from '../operation/operation.decorator';
import { ANY_KEY } from '../routes/route-facts';
import { basisOf } from './basis';

/** The error codes in the order of the document: by status, the modules' codes before the common ones. */
type Codes = readonly DefinedError[];
type Schemas = Readonly<Record<string, unknown>>;

/** An OpenAPI document of the API. */
export class OpenApiDocument {
  readonly operations: readonly OperationObject[];

  constructor(readonly content: OpenAPIObject) {
    this.operations = Object.values(content.paths).flatMap(({ get, post, put, patch, delete: remove }) =>
      [get, post, put, patch, remove].filter((operation) => operation !== undefined),
    );
  }

  /**
   * Creates the document from the controllers, the DTO classes and the tables of codes and headers. Its paths are relative
   * to the base URL.
   *
   * @param added the codes of every operation besides the common ones
   * @param planTable the plans with their limits, as a Markdown table
   */
  static create(
    app: INestApplication,
    config: Config,
    { tags, events }: Required<Pick<Extension, 'tags' | 'events'>>,
    added: Codes,
    planTable: string,
  ): OpenApiDocument {
    const basis = basisOf(config, tags, planTable);
    const created = createDocument(app, basis, {
      extraModels: Object.values(events).map(({ data }) => data),
      autoTagControllers: false,
    });
    // The base URL contains the version.
    const paths = Object.fromEntries(
      Object.entries(created.paths).map(([path, item]) => [path.replace(/^\/v1(?=\/)/, ''), item]),
    );
    const schemas = { ...created.components?.schemas };
    completeEvents(schemas, events);
    const components = { ...basis.components, schemas, responses: {} };
    const document = new OpenApiDocument({ ...basis, paths, components });
    document.completeSchemas(schemas);
    components.responses = document.completeResponses(added);
    return document;
  }

  /**
   * Lists the common codes, and those that the operations name in `rejects`.
   *
   * @param added the codes of extensions, which every operation can return unless `on` names some
   * @throws UserError if a code has two definitions, or two addresses have one operation id
   */
  codes(added: Codes = []): Codes {
    const ids = this.operations.map(({ operationId }) => operationId);
    const repeated = ids.find((id, at) => findOperation(id) && ids.indexOf(id) !== at);
    if (repeated) throw new UserError(`The operation id ${repeated} has two addresses: make two handlers.`);
    const operations = ids.map(findOperation);
    const named = operations.flatMap((operation) => operation?.rejects ?? []);
    const modules = named.filter((code) => !commonCodes.includes(code));
    const everywhere = added.map((code) => ({ on: 'every operation' as const, ...code }));
    const codes = new Map<string, DefinedError>();
    for (const each of [...modules, ...everywhere, ...commonCodes]) {
      const { code, status, when } = each;
      const other = codes.get(code) ?? each;
      if (status !== other.status || when !== other.when) {
        const place = operations.find((operation) => operation?.rejects.includes(each));
        throw new UserError(
          `The error code ${code}${place ? ` of ${place.id}` : ''} has two definitions, if ${other.when} (${other.status}) and if ${when} (${status}): rename one of them.`,
        );
      }
      codes.set(code, each);
    }
    return [...codes.values()].sort((one, other) => one.status - other.status);
  }

  /** Returns the schemas as Fastify's serializer takes them: by name, with numbers, without bounds and examples. */
  responseSchemas(): Record<string, object> {
    // In OpenAPI 3.0 exclusive bounds are booleans.
    const text = stringify(this.content.components?.schemas ?? {}) ?? '{}';
    const local: Record<string, object> = JSON.parse(
      text
        .replaceAll(/"#\/components\/schemas\/([^"]+)"/g, '"$1#"')
        .replaceAll(/"exclusive(?=M(?:ax|in)imum":(?:true|false))/g, '"x-'),
    );
    return Object.fromEntries(
      Object.entries(local).map(([name, schema]) => [name, { ...schema, $id: name }]),
    );
  }

  /**
   * Prints the document as JSON, for `/openapi.json` and the committed file. An integer may be a bigint. More than one
   * space of indentation would be a tenth of the package.
   */
  toJson(): string {
    return `${stringify(this.content, undefined, 1)}\n`;
  }

  toYaml(): string {
    // Few services need it.
    const { DUMP_SCHEMA, dump, intCoreTag }: typeof import('js-yaml') = require('js-yaml');
    // An integer may be a bigint.
    const schema = DUMP_SCHEMA.withTags({
      ...intCoreTag,
      identify: (value) => typeof value === 'bigint' || intCoreTag.identify(value),
      represent: String,
    });
    return dump(this.content, { schema, noRefs: true, lineWidth: -1 });
  }

  /** Adds what @nestjs/swagger has no decorator for: least members, examples of bodies and of required parameters. */
  private completeSchemas(schemas: Schemas): void {
    const types = this.operations.flatMap(({ operationId }) => findOperation(operationId)?.types ?? []);
    for (const type of types) {
      const { needsMember, bodyExample: example } = classFactsOf(type);
      const schema = schemas[type.name] ?? {};
      Object.assign(schema, needsMember && { minProperties: 1 }, example && { example });
    }
    // Tools that send requests, such as dredd, read no example of a schema.
    for (const each of this.operations.flatMap(({ parameters = [] }) => parameters))
      if ('in' in each && each.required) each.example ??= valueAt(each.schema, 'example');
  }

  /**
   * Gives every operation a response for each status of its own codes, `default` for those of any request, and 304 if it
   * is a conditional read.
   *
   * @returns the components that the operations refer to
   */
  private completeResponses(added: Codes) {
    const codes = this.codes(added);
    const statuses = defaultCodes.map(({ status }) => status).join(', ');
    const shared: Record<string, ResponseObject> = {
      Default: {
        ...errorResponse(defaultCodes),
        description: `An error that any request can get: ${statuses}. The description of the API lists its codes.`,
      },
      NotModified: {
        description: 'The response with this `ETag` is current: the client uses the one that it has.',
        // Those of the 200 (RFC 9110, 15.4.5).
        headers: headersOf(['ETag', 'Link', 'Cache-Control']),
      },
    };
    for (const { get } of Object.values(this.content.paths)) {
      if (!get || !findOperation(get.operationId)?.isRevalidated) continue;
      get.parameters = [...(get.parameters ?? []), { $ref: '#/components/parameters/IfNoneMatch' }];
      get.responses[304] = refer('NotModified');
    }
    for (const operation of this.operations) {
      const { responses } = operation;
      const rejected = rejectedCodes(operation, codes);
      for (const { status } of rejected.filter((code) => !defaultCodes.includes(code))) {
        const group = rejected.filter((code) => code.status === status);
        const name = nameOf(status, group);
        shared[name] ??= errorResponse(group);
        responses[status] = refer(name);
      }
      responses.default = refer('Default');
      // The OWASP rules of linters require a 500.
      responses[500] ??= responses.default;
    }
    return shared;
  }
}

function reject(warning: unknown): never {
  throw new UserError(String(warning));
}

/** Throws what the next major version of @nestjs/swagger throws: the serializer has one schema for each name of a class. */
function createDocument(...args: Parameters<typeof SwaggerModule.createDocument>): OpenAPIObject {
  const warn = Object.getOwnPropertyDescriptor(Logger, 'warn') ?? {};
  Object.defineProperty(Logger, 'warn', { ...warn, value: reject });
  try {
    return SwaggerModule.createDocument(...args);
  } finally {
    Object.defineProperty(Logger, 'warn', warn);
  }
}

/** Makes the schema of an event one variant for each class of `data`, which `type` tells apart. */
function completeEvents(schemas: Record<string, unknown>, types: EventTypes): void {
  const { Event: event, EventType: type } = schemas;
  if (!isObject(event) || !isObject(event['properties']) || !isObject(type)) return;
  schemas['EventType'] = { ...type, enum: Object.keys(types) };
  const mapping: Record<string, string> = {};
  for (const { data } of Object.values(types)) {
    const own = Object.keys(types).filter((name) => types[name]?.data === data);
    const properties = {
      ...event['properties'],
      type: { type: 'string', enum: own, description: 'What happened.', example: own[0] },
      data: { $ref: getSchemaPath(data) },
    };
    const description = `An event whose \`data\` is of the class ${data.name}.`;
    const required = [...[event['required']].flat(), 'data'];
    const variant = `${data.name}Event`;
    schemas[variant] = { type: 'object', description, properties, required };
    for (const name of own) mapping[name] = getSchemaPath(variant);
  }
  schemas['Event'] = {
    description: event['description'],
    oneOf: [...new Set(Object.values(mapping))].map(($ref) => ({ $ref })),
    discriminator: { propertyName: 'type', mapping },
  };
}

/** Lists the codes that an operation can return. @param all the codes of the document */
function rejectedCodes({ operationId = '', requestBody }: OperationObject, all: Codes): Codes {
  const { rejects = [], scope, uncounted } = findOperation(operationId) ?? {};
  const own: Codes = [
    ...rejects,
    ...(requestBody ? [commonErrors.malformed_json] : []),
    ...(scope === ANY_KEY ? [] : [commonErrors.insufficient_scope]),
    ...(uncounted ? [] : [commonErrors.daily_quota_exceeded, commonErrors.api_key_banned]),
  ];
  const names = new Set([...own, ...defaultCodes].map(({ code }) => code));
  return all.filter(
    ({ code, on = [] }) => names.has(code) || typeof on === 'string' || on.includes(operationId),
  );
}

const refer = (name: string) => ({ $ref: `#/components/responses/${name}` });

/** Names the response of a status by the codes that not every operation has: `NotFound-pet_not_found`. */
function nameOf(status: number, codes: Codes): string {
  const reason = (STATUS_CODES[status] ?? String(status)).replaceAll(/\W/g, '');
  const own = codes.filter((each) => typeof each.on !== 'string' && !defaultCodes.includes(each));
  return [reason, ...own.map(({ code }) => code)].join('-');
}

function errorResponse(codes: Codes): ResponseObject {
  const names = [...new Set(codes.flatMap(({ header }) => header ?? []))];
  const isAlways = codes.every(({ header }) => header === names[0]);
  const documented: typeof COMPONENT_HEADERS = { ...COMPONENT_HEADERS, Location: LOCATION_OF_TEXT };
  const optional = names.map((name) => [name, { ...documented[name], required: false }]);
  const headers = isAlways ? headersOf(names) : { ...Object.fromEntries(optional), ...headersOf([]) };
  return {
    description: codes.map(({ code, when }) => `- \`${code}\`: ${when}.`).join('\n'),
    headers,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  };
}
