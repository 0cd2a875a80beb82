import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { getMetadataStorage, validateSync } from 'class-validator';
import { validationFailed } from '../errors/http.errors';
import { readersOf } from './from-text.decorator';

type Fields = Readonly<Record<string, unknown>>;

/** The facts about a class that all its values share. */
interface Shape {
  /** The fields with a validator; empty for a class that is not a DTO. */
  readonly fields: readonly string[];
  /** The problems of a value without any of these fields. Most list requests have none, so it is computed once. */
  readonly problemsOfNothing: readonly string[];
}

const NO_DTO: Shape = { fields: [], problemsOfNothing: [] };

/**
 * Builds the handler's DTO from a body or a query, or throws 400 `validation_failed`.
 *
 * It replaces Nest's ValidationPipe, which converts values by class-transformer: `limit=1e1` would be 10. This pipe
 * - copies only own members with a validator, and drops all others;
 * - converts nothing but query parameters with `@FromText`, because the API promises that types are never coerced;
 * - reports one problem for each field;
 * - is synchronous.
 *
 * It does not support nested DTO classes; a start check rejects them.
 */
@Injectable()
export class StrictDtoPipe implements PipeTransform {
  private readonly shapes = new Map<Type, Shape>();

  transform(value: unknown, { metatype, type }: ArgumentMetadata): unknown {
    const { fields, problemsOfNothing } = metatype ? this.shapeOf(metatype) : NO_DTO;
    if (!metatype || fields.length === 0) return value;
    if (!isObject(value)) throw validationFailed([`The ${type} must be a JSON object`]);
    const known = pick(value, fields);
    const dto: object = new metatype();
    Object.assign(dto, read(known, dto));
    const problems = Object.keys(known).length === 0 ? problemsOfNothing : problemsOf(dto);
    if (problems.length > 0) throw validationFailed(problems);
    return dto;
  }

  private shapeOf(type: Type): Shape {
    const known = this.shapes.get(type);
    if (known) return known;
    const metadata = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
    const fields = [...new Set(metadata.map(({ propertyName }) => propertyName))];
    const shape = { fields, problemsOfNothing: fields.length > 0 ? problemsOf(new type()) : [] };
    this.shapes.set(type, shape);
    return shape;
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Converts the fields with `@FromText`, and copies the others. */
function read(texts: Fields, dto: object): Fields {
  const values = { ...texts };
  for (const [name, reader] of readersOf(dto)) if (name in values) values[name] = reader(values[name]);
  return values;
}

/** Copies own members only: a body may have a member `__proto__`. */
function pick(value: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(value, name)).map((name) => [name, value[name]]),
  );
}

/** Lists one problem for each field, because its validators often have the same message. */
function problemsOf(dto: object): string[] {
  return validateSync(dto).flatMap(({ constraints }) => Object.values(constraints ?? {}).slice(0, 1));
}
