import {
  type ArgumentMetadata,
  HttpException,
  Injectable,
  Logger,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import { ApiError } from '../errors/api-error';
import { validationFailed } from '../errors/platform.errors';
import { needsMember } from './at-least-one.decorator';
import { problemsOf } from './dto-problems';
import { type Members, pick, type Shape, shapeOf } from './dto-shape';
import { toNumbers } from './exact-integers';
import { placeIn, placesOf } from './input-places';
import { toInstance } from './nest-dto';

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

  transform(value: unknown, input: ArgumentMetadata): unknown {
    const { metatype, type } = input;
    // The value of a module's own parameter decorator is not input of a client.
    if (type === 'custom') return value;
    const shape = metatype ? this.shapeOf(metatype, type !== 'body') : NO_DTO;
    if (!metatype || shape.fields.size === 0) return type === 'body' ? toNumbers(value) : value;
    if (!isObject(value)) {
      throw validationFailed([{ ...placeIn(input, []), detail: `The ${type} must be a JSON object` }]);
    }
    const known = pick(value, shape);
    if (needsMember(metatype)) requireMember(known, shape, input);
    try {
      return validate(metatype, known, shape, input);
    } catch (error) {
      if (isRejection(error)) throw error;
      this.logger.warn(
        `A function of a decorator of ${metatype.name} fails on the ${type}: ${String(error)}`,
      );
      throw failureOf(metatype, known, shape, input);
    }
  }

  /** @param isText true for a query or a path, whose values are texts */
  private shapeOf(type: Type, isText: boolean): Shape {
    const shapes = isText ? this.shapes.text : this.shapes.body;
    const known = shapes.get(type) ?? shapeOf(type, isText);
    shapes.set(type, known);
    return known;
  }
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @throws ApiError `validation_failed` */
function requireMember(known: Members, { fields }: Shape, input: ArgumentMetadata): void {
  const names = [...fields.keys()];
  if (names.some((name) => known[name] !== undefined)) return;
  const detail = `The body must have at least one of ${names.join(', ')}`;
  throw validationFailed(
    placesOf(input, names).map((place) => ({ ...place, detail })),
    detail,
  );
}

/** Creates the DTO. @throws ApiError `validation_failed` */
function validate(type: Type<object>, known: Members, shape: Shape, input: ArgumentMetadata): object {
  const dto = shape.isTransformed ? toInstance(type, known) : Object.assign(new type(), known);
  if (shape.isValid?.(dto)) return dto;
  const problems = problemsOf(dto, shape.isTransformed, input);
  if (problems.length > 0) throw validationFailed(problems);
  return dto;
}

/** Names the fields on which a function of a decorator fails, or none if it fails for a combination of fields. */
function failureOf(type: Type<object>, known: Members, shape: Shape, input: ArgumentMetadata): ApiError {
  const given = [...shape.fields.keys()].filter((name) => Object.hasOwn(known, name));
  const failing = given.filter((name) => {
    try {
      return !validate(type, { [name]: known[name] }, shape, input);
    } catch (error) {
      return !isRejection(error);
    }
  });
  const rule = 'has an unexpected type or form';
  const problems =
    failing.length > 0
      ? failing.map((name) => ({ ...placeIn(input, [name]), detail: `${name} ${rule}` }))
      : placesOf(input, given.length > 0 ? given : [...shape.fields.keys()]).map((place) => ({
          ...place,
          detail: `A field ${rule}`,
        }));
  return validationFailed(problems, `${failing.join(', ') || 'A field'} ${rule}`);
}

function isRejection(error: unknown): boolean {
  return error instanceof ApiError || error instanceof HttpException;
}
