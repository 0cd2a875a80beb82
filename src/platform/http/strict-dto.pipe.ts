import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { getMetadataStorage, type ValidationError, validateSync } from 'class-validator';
import { validationFailed } from '../errors/http.errors';
import { withNumbers } from './exact-integers';
import { readersOf } from './from-text.decorator';
import { isTransformed, toInstance } from './nest-dto';

type Fields = Readonly<Record<string, unknown>>;

/** The facts about a class that all its values share. */
interface Shape {
  /** The fields with a validator; empty for a class that is not a DTO. */
  readonly fields: readonly string[];
  /** True if class-transformer creates the object, which takes several times as long. */
  readonly isTransformed: boolean;
  /** The problems of a value without any of these fields. Most list requests have none, so it is computed once. */
  readonly problemsOfNothing: readonly string[];
}

const NO_DTO: Shape = { fields: [], isTransformed: false, problemsOfNothing: [] };

/**
 * Builds the handler's DTO from a body or a query, or throws 400 `validation_failed`.
 *
 * It takes DTO classes as Nest's ValidationPipe does, with the decorators of class-validator and class-transformer. The
 * differences:
 * - An int64 field gets an exact bigint.
 * - It copies only own members with a validator, and drops all others.
 * - Without a decorator of class-transformer it converts no text: `limit=1e1` is not 10.
 * - It reports one problem for each field.
 * - It is synchronous.
 */
@Injectable()
export class StrictDtoPipe implements PipeTransform {
  private readonly shapes = new Map<Type, Shape>();

  transform(value: unknown, { metatype, type }: ArgumentMetadata): unknown {
    const shape = metatype ? this.shapeOf(metatype) : NO_DTO;
    if (!metatype || shape.fields.length === 0) return value;
    if (!isObject(value)) throw validationFailed([`The ${type} must be a JSON object`]);
    const known = pick(value, shape.fields);
    const dto = create(metatype, known, shape);
    const isEmpty = Object.keys(known).length === 0;
    const problems = isEmpty ? shape.problemsOfNothing : problemsOf(dto, shape);
    if (problems.length > 0) throw validationFailed(problems);
    return dto;
  }

  private shapeOf(type: Type): Shape {
    const known = this.shapes.get(type);
    if (known) return known;
    const metadata = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
    const fields = [...new Set(metadata.map(({ propertyName }) => propertyName))];
    const facts = { fields, isTransformed: isTransformed(type, fields) };
    const shape = {
      ...facts,
      problemsOfNothing: fields.length > 0 ? problemsOf(create(type, {}, facts), facts) : [],
    };
    this.shapes.set(type, shape);
    return shape;
  }
}

function create(type: Type<object>, known: Fields, shape: Pick<Shape, 'isTransformed'>): object {
  const prototype: object = type.prototype;
  const values = { ...known };
  for (const [name, reader] of readersOf(prototype)) if (name in values) values[name] = reader(values[name]);
  const plain = withNumbers(values, type);
  return shape.isTransformed ? toInstance(type, plain) : Object.assign(new type(), plain);
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Copies own members only: a body may have a member `__proto__`. */
function pick(value: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(value, name)).map((name) => [name, value[name]]),
  );
}

/** Lists one problem for each field, because its validators often have the same message. */
function problemsOf(dto: object, shape: Pick<Shape, 'isTransformed'>): string[] {
  // Only an object within another one can still have undeclared members.
  return sentencesOf(validateSync(dto, { whitelist: shape.isTransformed }), '');
}

/** @param parent the path of the object with these errors, with a dot at its end */
function sentencesOf(errors: readonly ValidationError[], parent: string): string[] {
  return errors.flatMap(({ property, constraints = {}, children = [] }) => [
    ...Object.values(constraints)
      .slice(0, 1)
      .map((sentence) => `${parent}${sentence}`),
    ...sentencesOf(children, `${parent}${property}.`),
  ]);
}
