import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestApp } from './app';
import type { HttpResponse } from './http';

const TEST = join(__dirname, '..');

type Codes = Readonly<Record<number, readonly string[]>>;

/** The route and the codes of an operation in openapi.json. */
interface ExpectedOperation {
  /** Method and path, such as `get /pets/{petId}`. */
  readonly route: string;
  /** The error codes of each status, in the order of the document. */
  readonly codes: Codes;
  /** The key needs one of them; none: every valid key is enough. */
  readonly scopes: readonly string[];
  readonly isDeprecated?: true;
  /** True if the specification does not have the operation. */
  readonly isExtension?: true;
  /** True if a GET has no entity tag. */
  readonly isUntagged?: true;
}

/** The operations of a module by `operationId`. */
export type ModuleOperations = Readonly<Record<string, ExpectedOperation>>;

/** A request that gets this status and code. */
export type Rejection = readonly [status: number, code: string, ask: (app: TestApp) => Promise<HttpResponse>];

/** The file `operations.ts` in the folder of a module's specs. */
interface ModuleTables {
  readonly operations: ModuleOperations;
  /** A request for each code of the module. */
  readonly rejections: readonly Rejection[];
}

/** The codes of every operation. */
export const ALWAYS = {
  401: ['missing_api_key', 'invalid_api_key', 'expired_api_key', 'revoked_api_key'],
  403: ['insufficient_scope'],
  408: ['request_timeout'],
  414: ['uri_too_long'],
  417: ['expectation_failed'],
  429: ['rate_limit_exceeded', 'daily_quota_exceeded', 'api_key_banned'],
  431: ['headers_too_large'],
  500: ['internal_error'],
  503: ['service_unavailable'],
};

/** The codes of a list. */
export const LIST = {
  ...ALWAYS,
  200: [],
  304: [],
  400: ['malformed_request', 'validation_failed', 'invalid_cursor'],
};
/** The codes of an operation with a body. */
export const BODY = {
  ...ALWAYS,
  400: ['malformed_request', 'malformed_json', 'validation_failed'],
  413: ['payload_too_large'],
  415: ['unsupported_media_type'],
};
/** The codes of an operation that returns one resource. */
export const ONE = { ...ALWAYS, 200: [], 304: [], 400: ['malformed_request', 'validation_failed'] };
/** The codes of a change that obeys If-Match. */
export const CONDITIONAL = { 412: ['precondition_failed'] };
/** The codes of an operation that creates a resource and takes an Idempotency-Key. */
export const KEYED = { ...BODY, 201: [], 409: ['idempotency_key_in_use'], 422: ['idempotency_key_reused'] };

/** The tables of every folder in `test` that has them. */
export const modules: readonly ModuleTables[] = readdirSync(TEST)
  .map((folder) => join(TEST, folder, 'operations.ts'))
  .filter((file) => existsSync(file))
  .map((file) => require(file) as ModuleTables);

/** The operations of every module by `operationId`. */
export const operations: ModuleOperations = Object.assign({}, ...modules.map((each) => each.operations));
