import type { INestApplication } from '@nestjs/common';
import {
  type ContactObject,
  DocumentBuilder,
  type OpenAPIObject,
  type PathItemObject,
  SwaggerModule,
} from '@nestjs/swagger';
import { findOperation } from '../../platform/api-docs/operations';
import type { Config } from '../../platform/config/config';
import { problemPages } from '../../platform/errors/problem-details';
import { ERROR_BODIES } from '../../platform/errors/error.dto';
import { UserError } from '../../platform/errors/user-error';
import { type Codes, codesOf } from './codes';
import { completeOperations } from './complete-operations';
import { completeDocument } from './complete-schemas';
import { description } from './description';
import { errorExamples } from './error-responses';
import { headerComponents } from './headers';
import { checkOperationClasses } from './operation-classes';
import { operationsOf } from './operations-of';
import { serversOf } from './servers';

export const API_TITLE = 'Animal Store';
export const API_VERSION = '1.0.0';

const VERSION_PREFIX = /^\/v1(?=\/)/;

const KEY_DESCRIPTION = `An API key of an account: \`ask_live_…\` in production, \`ask_test_…\` elsewhere. The operator of the deployment creates it with \`npm run -s cli -- keys create --account NAME\`; a development deployment prints one on its first start. It is printed once, has scopes, and expires after 365 days by default.`;

/** The parts of the document that extensions bring besides their operations. */
interface DocumentedExtensions {
  /** Descriptions by tag. */
  readonly tags: ReadonlyMap<string, string>;
  /** The codes of every operation, in addition to those of the platform. */
  readonly errors: Codes;
}

/**
 * Creates the OpenAPI document from the controllers, the DTO classes and the tables of codes and headers. Its paths are
 * relative to the base URL.
 *
 * @param planTable the plans with their limits, as a Markdown table
 */
export function createDocument(
  app: INestApplication,
  config: Config,
  extensions: DocumentedExtensions,
  planTable: string,
): OpenAPIObject {
  const { openapi, info, tags, paths, components } = SwaggerModule.createDocument(
    app,
    basis(planTable, extensions.tags),
    { extraModels: ERROR_BODIES },
  );
  const operations = belowBase(paths);
  const codes = codesOf(operations, extensions.errors);
  const responses = completeOperations(operations, codes);
  const document = {
    openapi,
    info: { ...info, contact: contactOf(config) },
    servers: serversOf(config),
    tags: tags ?? [],
    paths: operations,
    components: {
      ...components,
      responses,
      headers: headerComponents(),
      examples: errorExamples(codes, problemPages(config.publicBaseUrl), operations, responses),
    },
  };
  checkOperationClasses(document);
  completeDocument(document, components?.schemas ?? {});
  return document;
}

function basis(planTable: string, tags: DocumentedExtensions['tags']): Omit<OpenAPIObject, 'paths'> {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.0.3')
    .setTitle(API_TITLE)
    .setDescription(description(planTable))
    .setVersion(API_VERSION)
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addBearerAuth({
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'API key',
      description: KEY_DESCRIPTION,
    });
  for (const [tag, text] of tags) builder.addTag(tag, text);
  return builder.build();
}

function contactOf({ contactUrl }: Config): ContactObject {
  return {
    name: 'The operator of this deployment',
    ...(contactUrl === undefined ? {} : { url: contactUrl }),
  };
}

/**
 * Removes the version prefix from the paths, because the base URL contains it.
 *
 * @throws UserError for an operation elsewhere: clients of the document would get a 404
 */
function belowBase(paths: OpenAPIObject['paths']): OpenAPIObject['paths'] {
  return Object.fromEntries(
    Object.entries(paths).map(([path, item]) => {
      if (!VERSION_PREFIX.test(path)) rejectOperations(path, item);
      return [path.replace(VERSION_PREFIX, ''), item];
    }),
  );
}

function rejectOperations(path: string, item: PathItemObject): void {
  const facts = operationsOf({ [path]: item }).map(({ operationId }) => findOperation(operationId));
  const outside = facts.find((each) => each !== undefined);
  if (outside) {
    throw new UserError(
      `The operation ${outside.id} is at ${path}: add version: '1' to its @Controller, which adds /v1.`,
    );
  }
}
