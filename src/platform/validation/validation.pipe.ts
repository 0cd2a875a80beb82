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
import { Transform } from 'class-transformer';
import { getMetadataStorage, ValidateBy, ValidateIf, ValidationTypes } from 'class-validator';
import { ApiError } from '../errors/api-error';
import { validationFailed } from '../errors/platform.errors';
import { inBody, type Place, type Problem } from '../errors/problem-details';

/** The group of class-transformer for queries and paths, whose values are texts. */
const FROM_TEXT = 'text';
const TO_CLASS = { toClassOnly: true };

/** The facts of every field of a DTO class. */
export interface FieldFacts {
  /** Markdown, for the OpenAPI document. */
  readonly description: string;
  /** True if the member may be left out. */
  readonly optional?: true;
  /** True if the member may be null. */
  readonly nullable?: true;
}

/** The value of a field. An invalid value stays as it is when it is converted, so that the validator rejects it. */
interface Rule {
  /** The name of the validator. */
  readonly name: string;
  readonly isValid: (value: unknown) => boolean;
  /** Completes `name must be …`. */
  readonly rule: string;
  /** Converts the text of a query or path; texts, if it is given several times. */
  readonly fromText?: (text: unknown) => unknown;
  readonly fromJson?: (value: unknown) => unknown;
}

/** The members of a JSON object, or the parameters of a query or path. */
type Members = Readonly<Record<string, unknown>>;

/** The functions of a field decorator. */
type QuickField = Pick<Rule, 'isValid' | 'fromText' | 'fromJson'>;

type Fields = ReadonlyMap<string, QuickField>;

/** By the prototype that declares them. */
const DECLARED = new WeakMap<object, Map<string, QuickField>>();
const QUICK = new Map<unknown, Fields>();

/** Declares a field once: its validation, its schema in the document, and so the output of the serializer. */
export function declareField(facts: FieldFacts, schema: ApiPropertyOptions, value: Rule): PropertyDecorator {
  const { name, isValid, rule, fromText, fromJson } = value;
  const { optional, nullable } = facts;
  const isChecked = (_object: unknown, given: unknown): boolean =>
    !(given === undefined && optional) && !(given === null && nullable);
  const document = optional ? ApiPropertyOptional : ApiProperty;
  return applyDecorators(
    document(nullable ? Object.assign({ nullable }, schema) : schema),
    (target: object, field: string | symbol) => {
      const fields = DECLARED.get(target) ?? new Map<string, QuickField>();
      const isAcceptable = (given: unknown) => !isChecked(target, given) || isValid(given);
      DECLARED.set(target, fields.set(String(field), { ...value, isValid: isAcceptable }));
      // Without a condition of its own, a required field would have that of an optional field that it overrides.
      if (optional || nullable || hasCondition(target, field)) ValidateIf(isChecked)(target, field);
    },
    ...(fromText ? [Transform((given) => fromText(given.value), { groups: [FROM_TEXT], ...TO_CLASS })] : []),
    ...(fromJson ? [Transform((given) => fromJson(given.value), TO_CLASS)] : []),
    ValidateBy({
      name,
      validator: { validate: isValid, defaultMessage: (args) => `${args?.property} must be ${rule}` },
    }),
  );
}

function hasCondition({ constructor }: object, field: string | symbol): boolean {
  return getMetadataStorage()
    .getTargetValidationMetadatas(constructor, '', false, false)
    .some(
      ({ propertyName, type }) => propertyName === field && type === ValidationTypes.CONDITIONAL_VALIDATION,
    );
}

/** True for a JSON object. */
export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const CLASSES_WITH_MEMBER = new Set<Parameters<ClassDecorator>[0]>();

/** Requires at least one member of a DTO class whose members are all optional. */
export function AtLeastOne(): ClassDecorator {
  return (target) => {
    CLASSES_WITH_MEMBER.add(target);
  };
}

/** Lists the names of the classes that need a member, which are those of their schemas. */
export function classesWithMember(): readonly string[] {
  return [...CLASSES_WITH_MEMBER].map(({ name }) => name);
}

/**
 * Declares that each member of a class has a field decorator and no other decorator of class-validator or
 * class-transformer. A valid value then needs neither library.
 */
export function QuickDto(): ClassDecorator {
  return (type) => {
    const fields = declaredIn(type.prototype);
    if (validatedFields(type).length !== fields.size)
      throw new Error(`${type.name} has other validators, too.`);
    QUICK.set(type, fields);
  };
}

/** Lists the field of each validator. `@IsOptional()` and `@ValidateIf()` only switch the others on and off. */
export function validatedFields(type: Parameters<ClassDecorator>[0]): string[] {
  return getMetadataStorage()
    .getTargetValidationMetadatas(type, '', false, false)
    .filter((each) => each.type !== ValidationTypes.CONDITIONAL_VALIDATION)
    .map(({ propertyName }) => propertyName);
}

function declaredIn(prototype: object): Fields {
  const base: unknown = Object.getPrototypeOf(prototype);
  const inherited = typeof base === 'object' && base !== null ? declaredIn(base) : [];
  return new Map([...inherited, ...(DECLARED.get(prototype) ?? [])]);
}

/** Creates the DTO of a marked class; undefined if a value is invalid, for which class-validator has the messages. */
function quickDto(type: Type<object>, value: Members, isText: boolean): object | undefined {
  const fields = QUICK.get(type);
  if (!fields) return undefined;
  const dto: Record<string, unknown> = Object.assign(new type());
  for (const [name, { isValid, fromText, fromJson }] of fields) {
    if (Object.hasOwn(value, name)) {
      const convert = isText ? fromText : fromJson;
      dto[name] = convert ? convert(value[name]) : value[name];
    }
    if (!isValid(dto[name])) return undefined;
  }
  return dto;
}

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
      if (!CLASSES_WITH_MEMBER.has(type) || Object.values(dto).some((each) => each !== undefined)) return dto;
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
    if (given !== value && hasManyMembers(given))
      throw rejection(`A member has more than ${MAX_MEMBERS} members`, type, input);
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
  const fields = fieldsOf(type);
  return Object.fromEntries(Object.entries(value).filter(([name]) => fields.includes(name)));
}

/** Lists the fields of a class with validators. */
function fieldsOf(type: Type): string[] {
  return [...new Set(validatedFields(type))];
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
