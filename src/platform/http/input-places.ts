import type { ArgumentMetadata } from '@nestjs/common';
import { inBody, type Place } from '../errors/problem';

/**
 * Returns the place of a value in an input of a handler: a body, a query, or the parameters of a path.
 *
 * @param path names of members and indexes of items, from the value that the handler gets
 */
export function placeIn({ type, data }: ArgumentMetadata, path: readonly string[]): Place {
  // `@Body('owner')` gives the handler one member.
  const whole = data === undefined ? path : [data, ...path];
  return type === 'body' ? inBody(whole) : { parameter: whole[0] ?? '' };
}

/** Returns the places of a mistake that several fields share: the whole body, or each of the parameters. */
export function placesOf(input: ArgumentMetadata, names: readonly string[]): Place[] {
  const isOne = input.type === 'body' || input.data !== undefined;
  return isOne ? [placeIn(input, [])] : names.map((name) => placeIn(input, [name]));
}
