import { InvalidArgumentError } from 'commander';

/** A member of the resource of a new module. */
export interface NewField {
  readonly member: string;
  /** The name of its field decorator. */
  readonly decorator: string;
  /** The texts of the template by their name after `$`. */
  readonly texts: Readonly<Record<string, string>>;
}

interface FieldType {
  readonly decorator: string;
  readonly type: string;
  readonly sql: string;
  readonly example: string;
  /** Further facts of the decorator. */
  readonly facts?: readonly string[];
  /** The first argument of `OneOf`. */
  readonly choice?: readonly string[];
}

const TEXT = { decorator: 'Text', type: 'string', sql: 'text', example: "'North'", facts: ['max: 255'] };
const TIME = {
  decorator: 'Timestamp',
  type: 'string',
  sql: 'timestamptz',
  example: "'2027-03-01T09:00:00.000Z'",
};
const NUMBER = {
  decorator: 'Decimal',
  type: 'number',
  sql: 'double precision',
  example: '1.5',
  facts: ['min: -1e15', 'max: 1e15'],
};
const INT32 = ['min: -2_147_483_648', 'max: 2_147_483_647'];

const TYPES: Readonly<Record<string, FieldType>> = {
  text: TEXT,
  string: TEXT,
  integer: { decorator: 'Integer', type: 'number', sql: 'integer', example: '1', facts: INT32 },
  int64: { decorator: 'Int64', type: 'bigint', sql: 'bigint', example: '1' },
  number: NUMBER,
  decimal: NUMBER,
  boolean: { decorator: 'Flag', type: 'boolean', sql: 'boolean', example: 'true' },
  timestamp: TIME,
  'date-time': TIME,
};

const RULE = `Give NAME:TYPE or NAME:TYPE?, such as dueAt:timestamp?, with a name of up to 30 letters and digits, and one of the types ${Object.keys(TYPES).join(', ')}, or values such as small,large.`;

/** `NAME:TYPE`, or `NAME:TYPE?`. */
const FORM = /^([a-z][A-Za-z0-9]{0,29}):([a-z][a-z0-9,_-]*)(\?)?$/;

/** The names that every row has in the template or in PostgreSQL. */
const RESERVED = /^(id|accountId|prototype|ctid|[cx]m(in|ax)|tableoid)$/;

/** Adds a field of `--field`. @throws InvalidArgumentError */
export function collectField(text: string, fields: readonly NewField[] = []): NewField[] {
  const [, member = '', kind = '', mark] = FORM.exec(text) ?? [];
  const type = Object.hasOwn(TYPES, kind) ? TYPES[kind] : choiceOf(member, kind.split(','));
  if (!type) throw new InvalidArgumentError(RULE);
  if (RESERVED.test(member) || member in {})
    throw new InvalidArgumentError(`Give another name, because ${member} is reserved.`);
  if (fields.some((each) => each.member === member))
    throw new InvalidArgumentError(`Give the field ${member} once.`);
  return [...fields, { member, decorator: type.decorator, texts: textsOf(member, type, mark !== undefined) }];
}

/** Returns the type of an enumeration. `$Resource` is the class of the resource. */
function choiceOf(member: string, values: readonly string[]): FieldType | undefined {
  const isValid = values.length > 1 && values.every((each) => /^[a-z][a-z0-9]*([_-][a-z0-9]+)*$/.test(each));
  if (!isValid || new Set(values).size < values.length) return undefined;
  const quoted = values.map((value) => `'${value}'`);
  return {
    decorator: 'OneOf',
    type: quoted.join(' | '),
    sql: `text CHECK ("${columnOf(member)}" IN (${quoted.join(', ')}))`,
    example: quoted[0] ?? '',
    choice: [
      `name: '$Resource${member.replace(/^./, (letter) => letter.toUpperCase())}Value'`,
      `description: 'The values of ${member}.'`,
      `values: [${quoted.join(', ')}]`,
    ],
  };
}

function columnOf(member: string): string {
  return member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function textsOf(member: string, type: FieldType, isOptional: boolean): NewField['texts'] {
  const { facts = [], choice, example } = type;
  const words = columnOf(member).replaceAll('_', ' ');
  const optional = isOptional ? ['optional: true', 'nullable: true'] : [];
  const last = objectOf([...facts, ...optional, `description: 'The ${words}.'`, `example: ${example}`]);
  // Prettier keeps these lines.
  const both = choice && `\n${objectOf(choice)},\n${last},\n`.replaceAll(/^(?=.)/gm, '  ');
  return {
    member,
    mark: isOptional ? '?' : '!',
    column: columnOf(member),
    type: isOptional ? `${type.type} | null` : type.type,
    sql: isOptional ? type.sql : type.sql.replace(/^[a-z0-9]+( precision)?/, '$& NOT NULL'),
    decorator: `@${type.decorator}(${both ?? last})`.replaceAll('\n', '\n  '),
  };
}

function objectOf(members: readonly string[]): string {
  return `{\n${members.map((each) => `  ${each},\n`).join('')}}`;
}
