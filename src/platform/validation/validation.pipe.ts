import {
  type ArgumentMetadata,
  HttpException,
  Injectable,
  Logger,
  type Type,
  type ValidationError,
  ValidationPipe,
} from '@nestjs/common';
import { validationFailed } from '../errors/platform.errors';
import {
  classFactsOf,
  FROM_TEXT,
  isGivenOnce,
  isObject,
  type Members,
  mistakeIn,
  type Rule,
  validatedFields,
} from './declare-field';

const OPTIONS = {
  transform: true,
  whitelist: true,
  // The size of a list is checked before its items.
  stopAtFirstError: true,
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
    // A parameter of the type bigint has its own pipe, for example from `@PathId()`.
    if (!type || Object.is(type, BigInt) || !this.toValidate(input)) return value;
    const { isOptional, needsMember, quickFields } = classFactsOf(type);
    if (value === undefined && isOptional) value = {};
    if (!isObject(value)) throw validationFailed([`The ${input.type} must be a JSON object`]);
    const mistakes: string[] = [];
    const dto = quickFields ? quickDto(type, value, input, mistakes) : await this.read(value, input, type);
    if (mistakes.length > 0) throw validationFailed(mistakes);
    if (!needsMember || Object.values(dto).some((each) => each !== undefined)) return dto;
    const fields = [...new Set(validatedFields(type))];
    throw validationFailed([`The ${input.type} must have at least one of ${fields.join(', ')}`]);
  }

  /** Reads a value by class-transformer and class-validator. */
  private async read(value: object, input: ArgumentMetadata, type: Type): Promise<object> {
    try {
      return await (input.type === 'body'
        ? super.transform(value, input)
        : this.ofTexts.transform(value, input));
    } catch (error) {
      if (Array.isArray(error)) throw validationFailed([...mistakesIn(error, input, type)]);
      if (error instanceof HttpException) throw error;
      this.logger.warn(
        `A function of a decorator of ${type.name} fails on the ${input.type}: ${String(error)}`,
      );
      throw validationFailed(['A field has an unexpected type or form']);
    }
  }
}

/** Creates the DTO of a marked class, and adds its mistakes. Items of a list that is too long are not read. */
function quickDto(
  type: Type<object>,
  value: Members,
  input: ArgumentMetadata,
  mistakes: string[],
  path: readonly string[] = [],
): object {
  const dto: Record<string, unknown> = Object.assign(new type());
  const report = (place: readonly string[], rule: Rule['rule'], given: unknown): unknown =>
    mistakes.push(repetitionIn(type, input, place, given) ?? mistakeIn(place.join('.'), rule, given));
  for (const [name, { isValid, rule, schema, classOf, fromText, fromJson }] of classFactsOf(type)
    .quickFields ?? []) {
    if (Object.hasOwn(value, name)) {
      const convert = input.type === 'body' ? fromJson : fromText;
      dto[name] = convert ? convert(value[name]) : value[name];
    }
    const given = dto[name];
    if (!isValid(given)) report([...path, name], rule, given);
    if (!classOf || !Array.isArray(given) || given.length > Number(schema.maxItems)) continue;
    dto[name] = given.map((item: unknown, at) => {
      const place = [...path, name, String(at)];
      return isObject(item)
        ? quickDto(classOf(), item, input, mistakes, place)
        : report(place, 'a JSON object', item);
    });
  }
  return dto;
}

/** Says that a query repeats a parameter that has one value. */
function repetitionIn(
  type: Type<object>,
  input: ArgumentMetadata,
  [name = '']: readonly string[],
  given: unknown,
): string | undefined {
  const isRepeated = input.type === 'query' && Array.isArray(given) && isGivenOnce(type, name);
  return isRepeated ? `${name} must be given only once` : undefined;
}

/** The sentence of class-validator, which names no item of a list. */
const NESTED = /^(?:each value in )?nested property .* must be either object or array$/;

/** Lists a mistake for each field. @param path names and indexes, from the value to the object with these errors */
function* mistakesIn(
  errors: readonly ValidationError[],
  input: ArgumentMetadata,
  type: Type<object>,
  path: readonly string[] = [],
): Generator<string> {
  const parent = path.map((name) => `${name}.`).join('');
  for (const { property, value, constraints = {}, children = [] } of errors) {
    const place = [...path, property];
    const { nestedValidation, ...own } = constraints;
    const [sentence = nestedValidation?.replace(NESTED, `${property} must be a JSON object`)] = [
      repetitionIn(type, input, place, value) ?? [],
      Object.values(own),
    ].flat();
    if (sentence !== undefined) yield `${parent}${sentence}`;
    yield* mistakesIn(children, input, type, place);
  }
}
