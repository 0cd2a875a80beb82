import { ApiError, type ErrorOptions } from './api-error';

/** The facts about a `code` that do not depend on the request. */
export interface CodeFacts {
  readonly status: number;
  /** When the service responds with it, in the words of the documents. */
  readonly when: string;
  /** The operations, by id or kind, that can respond with it besides those that name it in `rejects` of `@Operation`. */
  readonly on?:
    readonly string[] | 'every operation' | 'every body' | 'every scope' | 'every counted operation';
  /** The header of its responses, and its value if that does not depend on the request. */
  readonly header?: 'Allow' | 'Location' | 'Retry-After' | 'WWW-Authenticate';
  readonly headerValue?: string;
  /** The message of every such error. Without it each error has a message of its own. */
  readonly message?: string;
}

/** A code of the Error body. Called, it creates the error to throw. */
export interface DefinedError extends Omit<CodeFacts, 'message'> {
  readonly code: string;
}

type ErrorFactory<Facts> = Facts extends { readonly message: string }
  ? (options?: ErrorOptions) => ApiError
  : (options: ErrorOptions & { readonly message: string }) => ApiError;

/** The codes of a table, as `defineErrors` returns them. */
export type DefinedErrors<Table> = {
  readonly [Code in keyof Table]: DefinedError & ErrorFactory<Table[Code]>;
};

/**
 * Defines codes of the Error body: `throw errors.pet_not_found()`, `rejects: [errors.pet_not_found]`.
 *
 * Clients rely on a code: one may be added, but never renamed or given another status.
 */
export function defineErrors<const Table extends Readonly<Record<string, CodeFacts>>>(
  table: Table,
): DefinedErrors<Table> {
  const entries = Object.entries(table).map(([code, { message = '', ...facts }]) => {
    const { status, header, headerValue } = facts;
    const known = { code, status, message };
    const headers = header && headerValue !== undefined ? { [header]: headerValue } : {};
    const create = (options?: ErrorOptions): ApiError => new ApiError(known, { headers, ...options });
    return [code, Object.assign(create, { ...facts, code })];
  });
  return Object.fromEntries(entries);
}
