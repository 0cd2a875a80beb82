import {
  applyDecorators,
  type ArgumentMetadata,
  HttpException,
  Injectable,
  Logger,
  type Type,
  type ValidationError,
  ValidationPipe,
} from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform, Type as ConvertTo } from 'class-transformer';
import { getMetadataStorage, ValidateBy, ValidateIf, ValidateNested, ValidationTypes } from 'class-validator';
import { validationFailed } from '../errors/common.errors';
import { isObject } from './json';

/** The group of class-transformer for queries and paths, whose values are texts. */
const FROM_TEXT = 'text';
const TO_CLASS = { toClassOnly: true };

export interface FieldFacts<Value = unknown> {
  /** Markdown, for the OpenAPI document. */
  readonly description: string;
  readonly optional?: true;
  readonly nullable?: true;
  /** False if the service changes the member without a request: it is not part of the entity tag. */
  readonly isInEntityTag?: false;
  /** Swagger UI sends the example of an optional parameter. */
  readonly example?: Value | null;
  /** Documents the value of a member that is left out; the class sets it. */
  readonly default?: Value;
}

/** Checks and converts the values of a field. An invalid value stays as it is when it is converted, and `isValid` rejects it. */
interface ValueFacts {
  readonly schema: ApiPropertyOptions;
  readonly isValid: (value: unknown) => boolean;
  /** Completes `name must be …`. A function, because the start may add values to a choice. */
  readonly rule: string | (() => string);
  /** Converts the text of a query or path; texts, if it is given several times. */
  readonly fromText?: (text: unknown) => unknown;
  readonly fromJson?: (value: unknown) => unknown;
  /** The class of the object, or of the objects of a list. */
  readonly classOf?: () => Type<object>;
}

type Fields = ReadonlyMap<string, ValueFacts & { readonly facts: FieldFacts }>;

/** The facts about all values of a DTO class. No subclass inherits them. */
interface ClassFacts {
  readonly bodyExample?: object;
  readonly isOptional?: true;
  readonly needsMember?: true;
  readonly isQuick?: true;
}

/** The metadata of a prototype: the fields of its class and of its base classes. */
const FIELDS = Symbol('fields');
const CLASS_FACTS = Symbol('class facts');

/** Declares a field once: its validation, its schema in the document, and so the output of the serializer. */
export function declareField(facts: FieldFacts, value: ValueFacts): PropertyDecorator {
  const { optional, nullable, description, example, default: preset } = facts;
  const { schema, isValid, rule, fromText, fromJson, classOf } = value;
  const isLeftOut = (given: unknown): boolean =>
    (given === undefined && optional === true) || (given === null && nullable === true);
  const document = optional ? ApiPropertyOptional : ApiProperty;
  return applyDecorators(
    document(Object.assign(nullable ? { nullable } : {}, schema, { default: preset, description, example })),
    (target: object, field: string | symbol) => {
      const known = fieldsOf(target);
      const own = { ...value, facts, isValid: (given: unknown) => isLeftOut(given) || isValid(given) };
      Reflect.defineMetadata(FIELDS, new Map(known).set(String(field), own), target);
    },
    // A required field, too: it would have the condition of an optional field that it overrides.
    ValidateIf((_, given) => !isLeftOut(given)),
    ...(fromText ? [Transform((given) => fromText(given.value), { groups: [FROM_TEXT], ...TO_CLASS })] : []),
    ...(fromJson ? [Transform((given) => fromJson(given.value), TO_CLASS)] : []),
    ...(classOf ? [ConvertTo(classOf), ValidateNested()] : []),
    ValidateBy({
      name: 'isField',
      validator: {
        validate: isValid,
        defaultMessage: (args) => mistakeIn(args?.property ?? '', rule, args?.value),
      },
    }),
  );
}

function mistakeIn(name: string, rule: ValueFacts['rule'], value: unknown): string {
  if (value === undefined) return `${name} is missing`;
  return `${name} must be ${typeof rule === 'string' ? rule : rule()}`;
}

/** Returns the fields of a prototype, including inherited ones. */
function fieldsOf(prototype: object): Fields {
  return Reflect.getMetadata(FIELDS, prototype) ?? new Map();
}

/** Lists the members of a class that are not part of its entity tag. */
export function membersOutsideEntityTag({ prototype }: Type<object>): string[] {
  return [...fieldsOf(prototype)].flatMap(([name, { facts }]) => (facts.isInEntityTag === false ? name : []));
}

function addClassFacts(facts: ClassFacts): ClassDecorator {
  return (type) => Reflect.defineMetadata(CLASS_FACTS, { ...classFactsOf(type), ...facts }, type);
}

export function classFactsOf(type: object): ClassFacts {
  return Reflect.getOwnMetadata(CLASS_FACTS, type) ?? {};
}

/** Gives a body another example than its fields. Swagger UI sends it, also if it was not read: it does no harm. */
export const BodyExample = (bodyExample: object): ClassDecorator => addClassFacts({ bodyExample });

/** Declares that a request may leave out a body of this class: all its members have presets. */
export const OptionalBody = (): ClassDecorator => addClassFacts({ isOptional: true });

/** Requires at least one member of a DTO class whose members are all optional. */
export const AtLeastOne = (): ClassDecorator => addClassFacts({ needsMember: true });

/**
 * Declares that each member of a class, and of the classes of its lists, has a field decorator and no other decorator of
 * class-validator or class-transformer. Its values then need neither library. No subclass inherits it.
 */
export const QuickDto = (): ClassDecorator => addClassFacts({ isQuick: true });

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
    const { isOptional, needsMember, isQuick } = classFactsOf(type);
    if (value === undefined && isOptional) value = {};
    if (!isObject(value)) throw validationFailed([`The ${input.type} must be a JSON object`]);
    const mistakes: string[] = [];
    const dto = isQuick
      ? readByFields(type, value, input, mistakes)
      : await this.readByLibraries(value, input, type);
    if (mistakes.length > 0) throw validationFailed(mistakes);
    if (!needsMember || Object.values(dto).some((each) => each !== undefined)) return dto;
    const fields = [...new Set(this.validatedFields(type))];
    throw validationFailed([`The ${input.type} must have at least one of ${fields.join(', ')}`]);
  }

  /** Lists the field of each validator. `@IsOptional()` and `@ValidateIf()` only switch the others on and off. */
  validatedFields(type: Type): string[] {
    return getMetadataStorage()
      .getTargetValidationMetadatas(type, '', false, false)
      .filter((each) => each.type !== ValidationTypes.CONDITIONAL_VALIDATION)
      .map(({ propertyName }) => propertyName);
  }

  /** Creates a DTO by class-transformer and class-validator. */
  private async readByLibraries(value: object, input: ArgumentMetadata, type: Type): Promise<object> {
    try {
      return await (input.type === 'body'
        ? super.transform(value, input)
        : this.ofTexts.transform(value, input));
    } catch (error) {
      if (Array.isArray(error)) throw validationFailed(this.flattenValidationErrors(error));
      if (error instanceof HttpException) throw error;
      this.logger.warn(
        `A function of a decorator of ${type.name} fails on the ${input.type}: ${String(error)}`,
      );
      throw validationFailed(['A field has an unexpected type or form']);
    }
  }
}

/**
 * Creates the DTO of a class with `@QuickDto()`, and adds its mistakes. Items of a list that is too long are not read.
 *
 * @param path leads to the value, and ends with a point
 */
function readByFields(
  type: Type<object>,
  value: Readonly<Record<string, unknown>>,
  input: ArgumentMetadata,
  mistakes: string[],
  path = '',
): object {
  const dto: Record<string, unknown> = Object.assign(new type());
  for (const [name, { schema, isValid, rule, classOf, fromText, fromJson }] of fieldsOf(type.prototype)) {
    if (Object.hasOwn(value, name)) {
      const convert = input.type === 'body' ? fromJson : fromText;
      dto[name] = convert ? convert(value[name]) : value[name];
    }
    const given = dto[name];
    // A parameter with several values makes a list of one.
    const isRepeated = input.type === 'query' && Array.isArray(given) && !Array.isArray(fromText?.(''));
    if (isRepeated) mistakes.push(`${name} must be given once`);
    else if (!isValid(given)) mistakes.push(mistakeIn(path + name, rule, given));
    if (!classOf || !Array.isArray(given) || given.length > Number(schema.maxItems)) continue;
    dto[name] = given.map((item: unknown, at) => {
      const place = `${path}${name}.${at}`;
      if (isObject(item)) return readByFields(classOf(), item, input, mistakes, `${place}.`);
      return mistakes.push(`${place} must be a JSON object`);
    });
  }
  return dto;
}
