import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { getMetadataStorage, ValidateBy, ValidateIf, ValidationTypes } from 'class-validator';

/** The group of class-transformer for queries and paths, whose values are texts. */
export const FROM_TEXT = 'text';
const TO_CLASS = { toClassOnly: true };

export interface FieldFacts<Value = unknown> {
  /** Markdown, for the OpenAPI document. */
  readonly description: string;
  readonly optional?: true;
  readonly nullable?: true;
  /** True if the service changes the member without a request: it is not part of the entity tag. */
  readonly untagged?: true;
  /** Swagger UI sends the example of an optional parameter. */
  readonly example?: Value | null;
  /** Documents the value of a member that is left out; the class sets it. */
  readonly default?: Value;
}

/** The value of a field. An invalid value stays as it is when it is converted, so that the validator rejects it. */
export interface Rule {
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
export type Members = Readonly<Record<string, unknown>>;

interface Field extends Rule {
  readonly facts: FieldFacts;
}

type Fields = ReadonlyMap<string, Field>;

/** The facts about all values of a DTO class. No subclass inherits them. */
interface ClassFacts {
  readonly bodyExample?: object;
  readonly isOptional?: true;
  readonly needsMember?: true;
  /** The fields of a class with `@QuickDto()`. */
  readonly quickFields?: Fields;
}

/** The metadata of a prototype: the fields of its class and of its base classes. */
const FIELDS = Symbol('fields');
const CLASS_FACTS = Symbol('class facts');

/** Declares a field once: its validation, its schema in the document, and so the output of the serializer. */
export function declareField(facts: FieldFacts, value: Rule): PropertyDecorator {
  const { optional, nullable, description, example, default: preset } = facts;
  const { schema, isValid, rule, fromText, fromJson } = value;
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
    ValidateBy({
      name: 'isField',
      validator: {
        validate: isValid,
        defaultMessage: (args) => mistakeIn(args?.property ?? '', rule, args?.value),
      },
    }),
  );
}

export function mistakeIn(name: string, rule: Rule['rule'], value: unknown): string {
  if (value === undefined) return `${name} is missing`;
  return `${name} must be ${typeof rule === 'string' ? rule : rule(value, name)}`;
}

/** True if a query of the class has at most one value of the parameter. A list of values makes a list of one text. */
export function isGivenOnce({ prototype = {} }: Type<object>, name: string): boolean {
  const field = fieldsOf(prototype).get(name);
  return field !== undefined && !Array.isArray(field.fromText?.(''));
}

/** Returns the fields of a prototype, including inherited ones. */
function fieldsOf(prototype: object): Fields {
  return Reflect.getMetadata(FIELDS, prototype) ?? new Map();
}

/** Lists the members of a class that are not part of its entity tag. */
export function untaggedMembers({ prototype }: Type<object>): string[] {
  return [...fieldsOf(prototype)].flatMap(([name, { facts }]) => (facts.untagged ? name : []));
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

export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The place of a value within JSON: names of members and indexes of items. */
export type Place = readonly (string | number)[];

/** Returns the value at a place; undefined if the JSON has no such place. */
export function valueAt(json: unknown, ...place: Place): unknown {
  return place.reduce<unknown>((outer, step) => {
    if (typeof outer !== 'object' || outer === null) return undefined;
    return Object.getOwnPropertyDescriptor(outer, step)?.value;
  }, json);
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
 * Declares that each member of a class has a field decorator and no other decorator of class-validator or
 * class-transformer. Its values then need neither library. The class of a list has this mark, too.
 */
export function QuickDto(): ClassDecorator {
  return (type) => {
    const fields = fieldsOf(type.prototype);
    const lists = [...fields.values()].filter(({ schema, classOf }) => schema.isArray && classOf);
    // `@ValidateNested()` is a second validator of a list of objects.
    const hasOthers = validatedFields(type).length !== fields.size + lists.length;
    const others = lists.filter(({ classOf }) => classOf && !classFactsOf(classOf()).quickFields);
    if (hasOthers || others.length > 0) throw new Error(`${type.name} has other validators, too.`);
    addClassFacts({ quickFields: fields })(type);
  };
}

/** Lists the field of each validator. `@IsOptional()` and `@ValidateIf()` only switch the others on and off. */
export function validatedFields(type: Parameters<ClassDecorator>[0]): string[] {
  return getMetadataStorage()
    .getTargetValidationMetadatas(type, '', false, false)
    .filter((each) => each.type !== ValidationTypes.CONDITIONAL_VALIDATION)
    .map(({ propertyName }) => propertyName);
}
