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
export interface FieldFacts<Value = unknown> {
  /** Markdown, for the OpenAPI document. */
  readonly description: string;
  /** True if the member may be left out. */
  readonly optional?: true;
  /** True if the member may be null. */
  readonly nullable?: true;
  /** True if the service changes the member by itself: it is not part of the entity tag. */
  readonly untagged?: true;
  /** Swagger UI sends the example of an optional parameter. */
  readonly example?: Value | null;
  /** Documents the value of a member that is left out; the class sets it. */
  readonly default?: Value;
}

/** The value of a field. An invalid value stays as it is when it is converted, so that the validator rejects it. */
interface Rule {
  readonly schema: ApiPropertyOptions;
  readonly isValid: (value: unknown) => boolean;
  /** Completes `name must be …`, also for the value that it rejects. */
  readonly rule: string | ((value: unknown, name: string) => string);
  /** Converts the text of a query or path; texts, if it is given several times. */
  readonly fromText?: (text: unknown) => unknown;
  readonly fromJson?: (value: unknown) => unknown;
  /** The class of the object, or of the objects of a list. */
  readonly classOf?: () => Type<object>;
}

/** The members of a JSON object, or the parameters of a query or path. */
type Members = Readonly<Record<string, unknown>>;

interface Field extends Rule {
  readonly facts: FieldFacts;
}

type Fields = ReadonlyMap<string, Field>;

/** Marks a member of a schema that is not part of the entity tag. */
export const UNTAGGED = 'x-untagged';

/** The metadata of a prototype: the fields of its class and of its base classes. */
const FIELDS = Symbol('fields');
const BODY_EXAMPLE = Symbol('body example');
const QUICK = new Map<unknown, Fields>();

/** Declares a field once: its validation, its schema in the document, and so the output of the serializer. */
export function declareField(facts: FieldFacts, value: Rule): PropertyDecorator {
  const { optional, nullable, untagged, description, example, default: preset } = facts;
  const { schema, isValid, rule, fromText, fromJson } = value;
  const isLeftOut = (given: unknown): boolean =>
    (given === undefined && optional === true) || (given === null && nullable === true);
  const document = optional ? ApiPropertyOptional : ApiProperty;
  return applyDecorators(
    document(
      Object.assign(nullable ? { nullable } : {}, schema, {
        default: preset,
        description,
        example,
        ...(untagged && { [UNTAGGED]: true }),
      }),
    ),
    (target: object, field: string | symbol) => {
      const known = fieldsOf(target);
      const own = { ...value, facts, isValid: (given: unknown) => isLeftOut(given) || isValid(given) };
      Reflect.defineMetadata(FIELDS, new Map(known).set(String(field), own), target);
    },
    // A required field, too: it would have the condition of an optional field that it overrides.
    ValidateIf((_, given) => !isLeftOut(given)),
    ...(fromText ? [Transform((given) => fromText(given.value), { groups: [FROM_TEXT], ...TO_CLASS })] : []),
    ...(fromJson ? [Transform((given) => fromJson(given.value), TO_CLASS)] : []),
    ValidateBy({
      name: 'isField',
      validator: {
        validate: isValid,
        defaultMessage: (args) => mistakeIn(args?.property ?? '', rule, args?.value),
      },
    }),
  );
}

function mistakeIn(name: string, rule: Rule['rule'], value: unknown): string {
  if (value === undefined) return `${name} is missing`;
  return `${name} must be ${typeof rule === 'string' ? rule : rule(value, name)}`;
}

/**
 * Gives the body of a DTO class another example than the members of all its fields. Swagger UI sends it, also if it was not
 * read: it does no harm.
 */
export function BodyExample(example: object): ClassDecorator {
  return Reflect.metadata(BODY_EXAMPLE, example);
}

export function bodyExampleOf(type: Type<object>): object | undefined {
  return Reflect.getOwnMetadata(BODY_EXAMPLE, type);
}

/** Returns a mistake in a field of one of the classes, as an example. */
export function exampleMistake(types: readonly Type<object>[]) {
  const [name] = types.flatMap((type) => validatedFields(type));
  if (name === undefined) return undefined;
  const [rule] = types.flatMap(({ prototype = {} }) => fieldsOf(prototype).get(name)?.rule ?? []);
  // A class that Nest derives has no rules.
  const detail =
    rule === undefined ? `There is no member ${name}s; did you mean ${name}?` : mistakeIn(name, rule, true);
  return { name, detail };
}

/** Returns the fields of a prototype, those of base classes included. */
function fieldsOf(prototype: object): Fields {
  return Reflect.getMetadata(FIELDS, prototype) ?? new Map();
}

/** Lists the members of a class that are not part of its entity tag. */
export function untaggedMembers({ prototype }: Type<object>): string[] {
  return [...fieldsOf(prototype)].flatMap(([name, { facts }]) => (facts.untagged ? name : []));
}

/** Lists a DTO class, and the classes of the objects in it. */
export function classesIn(type: Type<object>): Type<object>[] {
  const found = new Set([type]);
  // The loop also visits the classes that it adds.
  for (const { prototype } of found) {
    for (const { classOf } of fieldsOf(prototype).values()) if (classOf) found.add(classOf());
  }
  return [...found];
}

/** Declares filters in the class of a query: the fields of the rows, each of them optional. */
export function declareFilters(query: Type<object>, rows: Type<object>, members: readonly string[]): void {
  for (const member of members) {
    const field = fieldsOf(rows.prototype).get(member);
    if (!field) throw new Error(`${rows.name}.${member} has no field decorator: a filter needs one.`);
    const description = `Only items with this \`${member}\`. ${field.facts.description}`;
    declareField({ description, optional: true }, field)(query.prototype, member);
  }
  QuickDto()(query);
}

/** True for a JSON object. */
export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const OPTIONAL_BODIES = new Set<Parameters<ClassDecorator>[0]>();

/** Declares that a request may leave out a body of this class: all its members have presets. */
export function OptionalBody(): ClassDecorator {
  return (target) => {
    OPTIONAL_BODIES.add(target);
  };
}

export function isOptionalBody(type: Type<object>): boolean {
  return OPTIONAL_BODIES.has(type);
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
 * class-transformer. Its values then need neither library. The class of a list has this mark, too.
 */
export function QuickDto(): ClassDecorator {
  return (type) => {
    const fields = fieldsOf(type.prototype);
    const lists = [...fields.values()].filter(({ schema, classOf }) => schema.isArray && classOf);
    // `@ValidateNested()` is a second validator of a list of objects.
    const hasOthers = validatedFields(type).length !== fields.size + lists.length;
    if (hasOthers || lists.some(({ classOf }) => !QUICK.has(classOf?.())))
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

/** Most validators of all objects of a body. Each takes some 2 µs, and each object as long as six. */
const MAX_CHECKS = 8_000;
const CHECKS_OF_OBJECT = 6;

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
    // A parameter of the type bigint has a pipe of its own, such as that of `@PathId()`.
    if (!type || Object.is(type, BigInt) || !this.toValidate(input)) return value;
    if (value === undefined && OPTIONAL_BODIES.has(type)) value = {};
    if (!isObject(value)) throw rejection(`The ${input.type} must be a JSON object`, type, input);
    const problems: Problem[] = [];
    const isQuick = QUICK.has(type);
    const dto = isQuick ? quickDto(type, value, input, problems) : await this.read(value, input, type);
    if (problems.length > 0) throw validationFailed(problems);
    if (!CLASSES_WITH_MEMBER.has(type) || Object.values(dto).some((each) => each !== undefined)) return dto;
    const fields = [...new Set(validatedFields(type))];
    throw rejection(`The ${input.type} must have at least one of ${fields.join(', ')}`, type, input);
  }

  /** Runs class-validator if its work is bounded. @throws ApiError `validation_failed` */
  protected override async validate(entity: object, options?: object): Promise<ValidationError[]> {
    if (countChecks(entity) <= MAX_CHECKS) return super.validate(entity, options);
    throw validationFailed([{ ...inBody(), detail: 'The body has too many objects' }]);
  }

  /** Reads a value by class-transformer and class-validator. */
  private async read(value: object, input: ArgumentMetadata, type: Type): Promise<object> {
    try {
      return await (input.type === 'body'
        ? super.transform(value, input)
        : this.ofTexts.transform(value, input));
    } catch (error) {
      if (Array.isArray(error)) throw validationFailed(problemsIn(error, input));
      if (error instanceof ApiError || error instanceof HttpException) throw error;
      this.logger.warn(
        `A function of a decorator of ${type.name} fails on the ${input.type}: ${String(error)}`,
      );
      throw rejection('A field has an unexpected type or form', type, input);
    }
  }
}

/** Estimates the work of class-validator for an object and the objects in it, in validators. */
function countChecks(entity: object): number {
  let checks = 0;
  const checksOf = new Map<Type, number>();
  const objects = new Set([entity]);
  // The loop also visits the objects that it adds.
  for (const object of objects) {
    const { constructor: type }: { constructor: Type } = Object.getPrototypeOf(object) ?? Object.prototype;
    const own = checksOf.get(type) ?? validatedFields(type).length;
    checksOf.set(type, own);
    checks += own && own + CHECKS_OF_OBJECT;
    for (const each of Object.values(object)) if (typeof each === 'object' && each) objects.add(each);
  }
  return checks;
}

/** Creates the DTO of a marked class, and adds its problems. Items of a list that is too long are not read. */
function quickDto(
  type: Type<object>,
  value: Members,
  input: ArgumentMetadata,
  problems: Problem[],
  path: readonly string[] = [],
): object {
  const dto: Record<string, unknown> = Object.assign(new type());
  const report = (place: readonly string[], rule: Rule['rule'], given: unknown): unknown =>
    problems.push({ ...placeIn(input, place), detail: mistakeIn(place.join('.'), rule, given) });
  for (const [name, { isValid, rule, schema, classOf, fromText, fromJson }] of QUICK.get(type) ?? []) {
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
        ? quickDto(classOf(), item, input, problems, place)
        : report(place, 'a JSON object', item);
    });
  }
  return dto;
}

/** Rejects a whole body, or all parameters of a query or path. */
function rejection(detail: string, type: Type, input: ArgumentMetadata): ApiError {
  const isOne = input.type === 'body' || input.data !== undefined;
  const fields = new Set(validatedFields(type));
  const places = isOne ? [placeIn(input, [])] : Array.from(fields, (name) => placeIn(input, [name]));
  return validationFailed(
    places.map((place) => ({ ...place, detail })),
    detail,
  );
}

/** The sentence of class-validator, which names no item of a list. */
const NESTED = /^(?:each value in )?nested property .* must be either object or array$/;

/** Lists a problem for each field. @param path names and indexes, from the value to the object with these errors */
function* problemsIn(
  errors: readonly ValidationError[],
  input: ArgumentMetadata,
  path: readonly string[] = [],
): Generator<Problem> {
  const parent = path.map((name) => `${name}.`).join('');
  for (const { property, constraints = {}, children = [] } of errors) {
    const place = [...path, property];
    const { nestedValidation, ...own } = constraints;
    const [sentence = nestedValidation?.replace(NESTED, `${property} must be a JSON object`)] =
      Object.values(own);
    if (sentence !== undefined) yield { ...placeIn(input, place), detail: `${parent}${sentence}` };
    yield* problemsIn(children, input, place);
  }
}

/** @param path names of members and indexes of items, from the value that the handler gets */
function placeIn({ type, data }: ArgumentMetadata, path: readonly string[]): Place {
  // `@Body('owner')` gives the handler one member.
  const whole = data === undefined ? path : [data, ...path];
  return type === 'body' ? inBody(whole) : { parameter: whole[0] ?? '' };
}
