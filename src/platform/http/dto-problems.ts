import type { ArgumentMetadata } from '@nestjs/common';
import { type ValidationError, validateSync } from 'class-validator';
import type { Problem } from '../errors/problem';
import { placeIn } from './input-places';
import { givenNameOf } from './nest-dto';

/** Lists one problem for each field, because its validators often have the same message. */
export function problemsOf(dto: object, isTransformed: boolean, input: ArgumentMetadata): Problem[] {
  // Only a transformed object, or an object within it, can still have undeclared members.
  return problemsIn(validateSync(dto, { whitelist: isTransformed }), { input, parent: '', path: [] });
}

/** The object with some errors. */
interface Parent {
  readonly input: ArgumentMetadata;
  /** Its fields, with a dot at the end, for a person. */
  readonly parent: string;
  /** The same path in the names that the client sent. */
  readonly path: readonly string[];
}

function problemsIn(errors: readonly ValidationError[], { input, parent, path }: Parent): Problem[] {
  return errors.flatMap(({ property, target, constraints = {}, children = [] }) => {
    const place = [...path, target ? givenNameOf(target.constructor, property) : property];
    return [
      ...Object.values(constraints)
        .slice(0, 1)
        .map((sentence) => ({ ...placeIn(input, place), detail: `${parent}${sentence}` })),
      ...problemsIn(children, { input, parent: `${parent}${property}.`, path: place }),
    ];
  });
}
