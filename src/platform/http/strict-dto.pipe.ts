import {
  type ArgumentMetadata,
  HttpException,
  Injectable,
  Logger,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import { ApiError } from '../errors/api-error';
import { validationFailed } from '../errors/http.errors';
import { needsMember } from './at-least-one.decorator';
import { problemsOf } from './dto-problems';
import { exactFieldsOf, toNumbers } from './exact-integers';
import { readersOf } from './from-text.decorator';
import { givenNameOf, isTransformed, nestedTypeOf, toInstance } from './nest-dto';
import { type QuickValidation, quickValidationOf } from './quick-validation';

type Members = Readonly<Record<string, unknown>>;

/** Prepares the value of one field for its validators. */
type Convert = (value: unknown) => unknown;

/** The facts about a class that all its values share. */
interface Shape {
  /** The fields with a validator, by their names in the input; empty for a class that is not a DTO. */
  readonly fields: ReadonlyMap<string, Convert>;
  /** True if class-transformer creates the object, which takes several times as long. */
  readonly isTransformed: boolean;
  /** Undefined if class-validator validates every value. */
  readonly isValid: QuickValidation | undefined;
}

const NO_DTO: Shape = { fields: new Map(), isTransformed: false, isValid: undefined };

/**
 * Builds the handler's DTO from a body or a query, or throws 400 `validation_failed`.
 *
 * It takes DTO classes as Nest's ValidationPipe does, with the decorators of class-validator and class-transformer. The
 * differences:
 * - An int64 field gets an exact bigint.
 * - It copies only own members with a validator, and drops all others.
 * - If a function of a decorator fails on a value, such as that of `@Transform`, the value is rejected.
 * - Without a decorator of class-transformer it converts no text: `limit=1e1` is not 10.
 * - It reports one problem for each field.
 * - It is synchronous.
 */
@Injectable()
export class StrictDtoPipe implements PipeTransform {
  private readonly logger = new Logger(StrictDtoPipe.name);
  /** By class: for bodies, and for texts. */
  private readonly shapes = { body: new Map<Type, Shape>(), text: new Map<Type, Shape>() };

  transform(value: unknown, { metatype, type }: ArgumentMetadata): unknown {
    // The value of a module's own parameter decorator is not input of a client.
    if (type === 'custom') return value;
    const shape = metatype ? this.shapeOf(metatype, type !== 'body') : NO_DTO;
    if (!metatype || shape.fields.size === 0) return type === 'body' ? toNumbers(value) : value;
    if (!isObject(value)) throw validationFailed([`The ${type} must be a JSON object`]);
    const known = pick(value, shape);
    if (needsMember(metatype)) requireMember(known, shape);
    try {
      return validate(metatype, known, shape);
    } catch (error) {
      if (isRejection(error)) throw error;
      this.logger.warn(
        `A function of a decorator of ${metatype.name} fails on the ${type}: ${String(error)}`,
      );
      throw validationFailed(problemsOfFailure(metatype, known, shape));
    }
  }

  /** @param isText true for a query or a path, whose values are texts */
  private shapeOf(type: Type, isText: boolean): Shape {
    const shapes = isText ? this.shapes.text : this.shapes.body;
    const known = shapes.get(type);
    if (known) return known;
    const metadata = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
    const names = [...new Set(metadata.map(({ propertyName }) => propertyName))];
    const isWhole = isTransformed(type, names);
    const shape = {
      fields: new Map(names.map((name) => [givenNameOf(type, name), converterOf(type, name, isText)])),
      isTransformed: isWhole,
      // Validation of a transformed object also removes members.
      isValid: isWhole ? undefined : quickValidationOf(type),
    };
    shapes.set(type, shape);
    return shape;
  }
}

function converterOf(type: Type<object>, name: string, isText: boolean): Convert {
  const prototype: object = type.prototype;
  const reader = isText ? readersOf(prototype).get(name) : undefined;
  if (reader) return reader;
  if (exactFieldsOf(type).has(name)) return (value) => value;
  return (value) => toNumbers(value, (object) => nestedTypeOf(type, name, object));
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Takes own members only: a body may have a member `__proto__`. */
function pick(value: Members, { fields, isTransformed: isWhole }: Shape): Members {
  // A function of class-transformer may read a member without a validator, which `validate` then removes.
  const picked = isWhole ? membersOf(value) : {};
  for (const [name, convert] of fields) {
    if (Object.hasOwn(value, name)) picked[name] = convert(value[name]);
  }
  return picked;
}

/** @throws ApiError `validation_failed` */
function requireMember(known: Members, { fields }: Shape): void {
  const names = [...fields.keys()];
  if (names.some((name) => known[name] !== undefined)) return;
  throw validationFailed([`The body must have at least one of ${names.join(', ')}`]);
}

function membersOf(value: Members): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, toNumbers(each)]));
}

/** Creates the DTO. @throws ApiError `validation_failed` */
function validate(type: Type<object>, known: Members, shape: Shape): object {
  const dto = shape.isTransformed ? toInstance(type, known) : Object.assign(new type(), known);
  if (shape.isValid?.(dto)) return dto;
  const problems = problemsOf(dto, shape.isTransformed);
  if (problems.length > 0) throw validationFailed(problems);
  return dto;
}

/** Names the fields on which a function of a decorator fails, or none if it fails for a combination of fields. */
function problemsOfFailure(type: Type<object>, known: Members, shape: Shape): string[] {
  const given = [...shape.fields.keys()].filter((name) => Object.hasOwn(known, name));
  const failing = given.filter((name) => {
    try {
      return !validate(type, { [name]: known[name] }, shape);
    } catch (error) {
      return !isRejection(error);
    }
  });
  return [`${failing.join(', ') || 'A field'} has an unexpected type or form`];
}

function isRejection(error: unknown): boolean {
  return error instanceof ApiError || error instanceof HttpException;
}
