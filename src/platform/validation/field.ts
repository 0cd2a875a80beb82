import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { getMetadataStorage, ValidateBy, ValidateIf, ValidationTypes } from 'class-validator';

/** The group of class-transformer for queries and paths, whose values are texts. */
export const FROM_TEXT = 'text';

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
interface QuickField {
  readonly isValid: (value: unknown) => boolean;
  readonly fromText?: ((text: unknown) => unknown) | undefined;
  readonly fromJson?: ((value: unknown) => unknown) | undefined;
}

type Fields = ReadonlyMap<string, QuickField>;

/** By the prototype that declares them. */
const DECLARED = new WeakMap<object, Map<string, QuickField>>();
const QUICK = new Map<unknown, Fields>();

/** Declares a field once: its validation, its schema in the document, and so the output of the serializer. */
export function declareField(
  facts: FieldFacts,
  schema: ApiPropertyOptions,
  { name, isValid, rule, fromText, fromJson }: Rule,
): PropertyDecorator {
  const { optional, nullable } = facts;
  const isChecked = (_object: unknown, value: unknown): boolean =>
    !(value === undefined && optional) && !(value === null && nullable);
  const document = optional ? ApiPropertyOptional : ApiProperty;
  return applyDecorators(
    document(nullable ? Object.assign({ nullable }, schema) : schema),
    (target: object, field: string | symbol) => {
      addField(target, String(field), {
        isValid: (value) => !isChecked(target, value) || isValid(value),
        fromText,
        fromJson,
      });
      // Without a condition of its own, a required field would have that of an optional field that it overrides.
      if (optional || nullable || hasCondition(target, field)) ValidateIf(isChecked)(target, field);
    },
    ...(fromText
      ? [Transform(({ value }) => fromText(value), { groups: [FROM_TEXT], toClassOnly: true })]
      : []),
    ...(fromJson ? [Transform(({ value }) => fromJson(value), { toClassOnly: true })] : []),
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

export function needsMember(type: Type): boolean {
  return CLASSES_WITH_MEMBER.has(type);
}

/** Lists the names of the classes that need a member, which are those of their schemas. */
export function classesWithMember(): readonly string[] {
  return [...CLASSES_WITH_MEMBER].map(({ name }) => name);
}

function addField(prototype: object, name: string, field: QuickField): void {
  DECLARED.set(prototype, (DECLARED.get(prototype) ?? new Map<string, QuickField>()).set(name, field));
}

/**
 * Declares that each member of a class has a field decorator and no other decorator of class-validator or
 * class-transformer. A valid value then needs neither library.
 */
export function QuickDto(): ClassDecorator {
  return (type) => {
    const fields = fieldsOf(type.prototype);
    const validators = getMetadataStorage()
      .getTargetValidationMetadatas(type, '', false, false)
      .filter((each) => each.type !== ValidationTypes.CONDITIONAL_VALIDATION);
    if (validators.length !== fields.size) throw new Error(`${type.name} has other validators, too.`);
    QUICK.set(type, fields);
  };
}

function fieldsOf(prototype: object): Fields {
  const base: unknown = Object.getPrototypeOf(prototype);
  const inherited = typeof base === 'object' && base !== null ? fieldsOf(base) : [];
  return new Map([...inherited, ...(DECLARED.get(prototype) ?? [])]);
}

/** Creates the DTO of a marked class; undefined if a value is invalid, for which class-validator has the messages. */
export function quickDto(type: Type<object>, value: Members, isText: boolean): object | undefined {
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
