import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { getMetadataStorage, type ValidationError, validateSync } from 'class-validator';
import { validationFailed } from '../errors/http.errors';
import { exactFieldsOf, toNumbers } from './exact-integers';
import { readersOf } from './from-text.decorator';
import { isTransformed, nestedTypeOf, toInstance } from './nest-dto';

type Members = Readonly<Record<string, unknown>>;

/** Prepares the value of one field for its validators. */
type Convert = (value: unknown) => unknown;

/** The facts about a class that all its values share. */
interface Shape {
  /** The fields with a validator; empty for a class that is not a DTO. */
  readonly fields: ReadonlyMap<string, Convert>;
  /** True if class-transformer creates the object, which takes several times as long. */
  readonly isTransformed: boolean;
  /** The problems of a value without any of these fields. Most list requests have none, so it is computed once. */
  readonly problemsOfNothing: readonly string[];
}

const NO_DTO: Shape = { fields: new Map(), isTransformed: false, problemsOfNothing: [] };

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
  /** By class: for bodies, and for texts. */
  private readonly shapes = { body: new Map<Type, Shape>(), text: new Map<Type, Shape>() };

  transform(value: unknown, { metatype, type }: ArgumentMetadata): unknown {
    const shape = metatype ? this.shapeOf(metatype, type !== 'body') : NO_DTO;
    if (!metatype || shape.fields.size === 0) return value;
    if (!isObject(value)) throw validationFailed([`The ${type} must be a JSON object`]);
    const known = pick(value, shape.fields);
    const dto = create(metatype, known, shape);
    const isEmpty = Object.keys(known).length === 0;
    const problems = isEmpty ? shape.problemsOfNothing : problemsOf(dto, shape);
    if (problems.length > 0) throw validationFailed(problems);
    return dto;
  }

  /** @param isText true for a query or a path, whose values are texts */
  private shapeOf(type: Type, isText: boolean): Shape {
    const shapes = isText ? this.shapes.text : this.shapes.body;
    const known = shapes.get(type);
    if (known) return known;
    const metadata = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
    const names = [...new Set(metadata.map(({ propertyName }) => propertyName))];
    const facts = {
      fields: new Map(names.map((name) => [name, converterOf(type, name, isText)])),
      isTransformed: isTransformed(type, names),
    };
    const problemsOfNothing = names.length > 0 ? problemsOf(create(type, {}, facts), facts) : [];
    const shape = { ...facts, problemsOfNothing };
    shapes.set(type, shape);
    return shape;
  }
}

function converterOf(type: Type<object>, name: string, isText: boolean): Convert {
  const prototype: object = type.prototype;
  const reader = isText ? readersOf(prototype).get(name) : undefined;
  if (reader) return reader;
  if (exactFieldsOf(type).has(name)) return (value) => value;
  const nested = nestedTypeOf(type, name);
  return (value) => toNumbers(value, nested);
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Takes own members only: a body may have a member `__proto__`. */
function pick(value: Members, fields: Shape['fields']): Members {
  const picked: Record<string, unknown> = {};
  for (const [name, convert] of fields) {
    if (Object.hasOwn(value, name)) picked[name] = convert(value[name]);
  }
  return picked;
}

function create(type: Type<object>, known: Members, shape: Pick<Shape, 'isTransformed'>): object {
  return shape.isTransformed ? toInstance(type, known) : Object.assign(new type(), known);
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
