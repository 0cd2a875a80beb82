import {
  type ArgumentMetadata,
  HttpException,
  Injectable,
  Logger,
  type Type,
  type ValidationError,
  ValidationPipe,
} from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import { ApiError } from '../errors/api-error';
import { validationFailed } from '../errors/platform.errors';
import { inBody, type Place, type Problem } from '../errors/problem-details';
import { FROM_TEXT, isObject, needsMember, quickDto } from './field';

/** class-transformer compares each name of an object with each other name. */
const MAX_MEMBERS = 1_000;

const OPTIONS = {
  transform: true,
  whitelist: true,
  exceptionFactory: (errors: ValidationError[]) => errors,
};

/**
 * Nest's `ValidationPipe` with the errors of this API. The field decorators convert the texts of a query or path. A
 * value of JSON is never converted.
 */
@Injectable()
export class ApiValidationPipe extends ValidationPipe {
  private readonly logger = new Logger(ApiValidationPipe.name);
  private readonly ofTexts = new ValidationPipe({ ...OPTIONS, transformOptions: { groups: [FROM_TEXT] } });

  constructor() {
    super(OPTIONS);
  }

  /** @throws ApiError `validation_failed` */
  override async transform(value: unknown, input: ArgumentMetadata): Promise<unknown> {
    const { metatype: type } = input;
    // A parameter of the type bigint has a pipe of its own, such as IdPipe.
    if (!type || Object.is(type, BigInt) || !this.toValidate(input)) return value;
    if (!isObject(value)) throw rejection(`The ${input.type} must be a JSON object`, type, input);
    try {
      const dto = quickDto(type, value, input.type !== 'body') ?? (await this.read(value, input, type));
      if (!needsMember(type) || Object.values(dto).some((each) => each !== undefined)) return dto;
    } catch (error) {
      if (Array.isArray(error)) throw validationFailed(problemsIn(error, { input, parent: '', path: [] }));
      if (error instanceof ApiError || error instanceof HttpException) throw error;
      this.logger.warn(
        `A function of a decorator of ${type.name} fails on the ${input.type}: ${String(error)}`,
      );
      throw rejection('A field has an unexpected type or form', type, input);
    }
    throw rejection(`The ${input.type} must have at least one of ${fieldsOf(type).join(', ')}`, type, input);
  }

  /** Reads a value by class-transformer and class-validator. */
  private read(value: object, input: ArgumentMetadata, type: Type): Promise<object> {
    const given = hasManyMembers(value) ? declaredMembers(value, type) : value;
    if (hasManyMembers(given)) throw rejection(`A member has more than ${MAX_MEMBERS} members`, type, input);
    return input.type === 'body' ? super.transform(given, input) : this.ofTexts.transform(given, input);
  }
}

/** True if an object in the value, or the value itself, is larger than class-transformer can read quickly. */
function hasManyMembers(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasManyMembers);
  if (!isObject(value)) return false;
  const members: readonly unknown[] = Object.values(value);
  return members.length > MAX_MEMBERS || members.some(hasManyMembers);
}

function declaredMembers(value: object, type: Type): object {
  const fields = new Set(fieldsOf(type));
  return Object.fromEntries(Object.entries(value).filter(([name]) => fields.has(name)));
}

/** Lists the fields of a class with validators. */
function fieldsOf(type: Type): string[] {
  const metadata = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  return [...new Set(metadata.map(({ propertyName }) => propertyName))];
}

/** Rejects a whole body, or all parameters of a query or path. */
function rejection(detail: string, type: Type, input: ArgumentMetadata): ApiError {
  const isOne = input.type === 'body' || input.data !== undefined;
  const places = isOne ? [placeIn(input, [])] : fieldsOf(type).map((name) => placeIn(input, [name]));
  return validationFailed(
    places.map((place) => ({ ...place, detail })),
    detail,
  );
}

/** The object with some errors. */
interface Parent {
  readonly input: ArgumentMetadata;
  /** Its fields, with a dot at the end, for a person. */
  readonly parent: string;
  /** The same path as names of members and indexes of items. */
  readonly path: readonly string[];
}

/** Lists one problem for each field, because its validators often have the same message. */
function problemsIn(errors: readonly ValidationError[], { input, parent, path }: Parent): Problem[] {
  return errors.flatMap(({ property, constraints = {}, children = [] }) => {
    const place = [...path, property];
    const { nestedValidation, ...own } = constraints;
    const [sentence = nestedValidation] = Object.values(own);
    return [
      ...(sentence === undefined ? [] : [{ ...placeIn(input, place), detail: `${parent}${sentence}` }]),
      ...problemsIn(children, { input, parent: `${parent}${property}.`, path: place }),
    ];
  });
}

/** @param path names of members and indexes of items, from the value that the handler gets */
function placeIn({ type, data }: ArgumentMetadata, path: readonly string[]): Place {
  // `@Body('owner')` gives the handler one member.
  const whole = data === undefined ? path : [data, ...path];
  return type === 'body' ? inBody(whole) : { parameter: whole[0] ?? '' };
}
