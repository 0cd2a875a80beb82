import { PathParam } from '../routes/route-facts';
import type { ApiError, DefinedError } from '../errors/api-error';

/** The range of int64 (OpenAPI Format Registry). */
export const MIN_INT64 = -(2n ** 63n);
export const MAX_INT64 = 2n ** 63n - 1n;

const PLAIN_DECIMAL = /^(?:0|-?[1-9][0-9]{0,18})$/;

/** The schema of an int64. Its bounds are bigints, because a number cannot hold the highest one. */
export function int64Schema(minimum: number | bigint = MIN_INT64, maximum: number | bigint = MAX_INT64) {
  // @nestjs/swagger expects numbers.
  const bounds: object = { minimum, maximum };
  return { type: 'integer', format: 'int64', ...bounds } as const;
}

/** Parses an int64 in plain decimal: `0|-?[1-9][0-9]*`. @returns undefined for any other text */
export function parseInt64(text: string): bigint | undefined {
  if (!PLAIN_DECIMAL.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/**
 * Declares an int64 parameter of the path. Any other text gets the same 404 as an unknown id.
 *
 * @param name as in the path: `petId` of `:petId`
 * @param notFound the error of an unknown id; the document lists it
 */
export function PathId(
  name: string,
  description: string,
  notFound: DefinedError & (() => ApiError),
  example = 1,
): ParameterDecorator {
  const transform = (text: string): bigint => {
    const id = parseInt64(text);
    if (id === undefined) throw notFound();
    return id;
  };
  return PathParam({ name, description, example, schema: int64Schema() }, transform, notFound);
}
