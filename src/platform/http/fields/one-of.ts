import { declareField, type FieldFacts } from './field';

/** A schema of the document that several fields share. */
export interface Choice<Value extends string = string> {
  /** The name of the schema in the document. */
  readonly name: string;
  readonly description: string;
  readonly values: readonly Value[];
}

interface OneOfFacts extends FieldFacts {
  readonly example: string;
  /** Documents the value of a member that is left out; the class sets it. */
  readonly default?: string;
}

/** Declares a text that is one of the values of `choice`. */
export function OneOf(choice: Choice, { example, default: value, ...facts }: OneOfFacts): PropertyDecorator {
  const { name, description: meaning, values } = choice;
  const { description } = facts;
  const preset = value === undefined ? {} : { default: value };
  return declareField(facts, {
    schema: {
      enum: [...values],
      enumName: name,
      enumSchema: { description: meaning },
      ...preset,
      description,
      example,
    },
    name: 'isOneOf',
    rule: `one of ${values.join(', ')}`,
    isValid: (each) => values.some((known) => known === each),
  });
}
