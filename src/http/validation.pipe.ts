import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { getMetadataStorage, validateSync } from 'class-validator';
import { validationFailed } from '../errors/http.errors';
import { readersOf } from './from-text.decorator';

type Fields = Readonly<Record<string, unknown>>;

/** What is the same for all values of a class. */
interface Shape {
  /** Those with a validator; a class that is no DTO has none. */
  readonly fields: readonly string[];
  /** What is wrong where none of them is given. A list is mostly asked for without any. */
  readonly problemsOfNothing: readonly string[];
}

const NO_DTO: Shape = { fields: [], problemsOfNothing: [] };

/**
 * Makes the DTO that a handler asks for from a body or a query, of its declared fields only, or refuses with 400.
 * A query is text, and its fields with `@FromText` are read from it; nothing else is coerced.
 */
@Injectable()
export class ValidationPipe implements PipeTransform {
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

/** The same fields, those read from their text for which the DTO says how. */
function read(texts: Fields, dto: object): Fields {
  const values = { ...texts };
  for (const [name, reader] of readersOf(dto)) if (name in values) values[name] = reader(values[name]);
  return values;
}

/** Only own members count: a body may hold one named `__proto__`. */
function pick(value: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(value, name)).map((name) => [name, value[name]]),
  );
}

/** One problem a field: its validators often say the same in several ways. */
function problemsOf(dto: object): string[] {
  return validateSync(dto).flatMap(({ constraints }) => Object.values(constraints ?? {}).slice(0, 1));
}
