import { DAY_MS } from '../../platform/runtime/time';
import type { TestRequest, TestResponse } from '../http-client';
import { type Operation, parametersIn } from './api-document';
import { jsonOf, replaceAt } from './json-body';
import { isSuccess, type Probe } from './probe';
import { encoded, exampleOf, queryText, type Schema } from './schema';

/** The resources of each kind that exist before other promises are checked; a page of two then has a next one. */
const COUNT = 3;
/** Some resources need others, which a later operation creates. */
const ROUNDS = 2;

/** Without resources neither pages nor retries can be checked. */
const NEVER_SUCCEEDS = 'never succeeds. Give examples that a new store accepts';

/** A request that has created a resource. */
export interface Creation {
  readonly body: unknown;
  readonly response: TestResponse;
}

/** Creates resources from the documented examples, and knows their ids. */
export class Resources {
  /** The ids by the path up to their parameter, such as `/pets/{petId}`. */
  private readonly ids = new Map<string, string>();
  private readonly variants = new Map<Operation, number>();

  constructor(private readonly probe: Probe) {}

  /** Creates resources by each POST. Some operations need those of another. */
  async createAll(): Promise<void> {
    const creating = this.probe.api.operations.filter(({ method }) => method === 'POST');
    const missing = new Map(creating.map((operation) => [operation, COUNT]));
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [operation, count] of missing) {
        missing.set(operation, count - (await this.createSome(operation, count)));
      }
    }
    for (const [operation, count] of missing) {
      if (count === COUNT) this.probe.note(operation.title, NEVER_SUCCEEDS);
    }
  }

  /** Tries bodies that differ from earlier ones in their texts, then also in their numbers. */
  async create(
    operation: Operation,
    headers: NonNullable<TestRequest['headers']> = {},
  ): Promise<Creation | undefined> {
    const variant = this.nextVariant(operation);
    for (const types of [['string'], ['string', 'integer']]) {
      const body = this.variantOf(operation.body, variant, types);
      const response = await this.probe.send(operation, { path: this.pathOf(operation), body, headers });
      const { location } = response.headers;
      if (location !== undefined) this.learn(location);
      if (isSuccess(response)) return { body, response };
    }
    return undefined;
  }

  /** Returns the documented example of the body, with texts that no earlier body has. */
  newBody(operation: Operation): unknown {
    return this.variantOf(operation.body, this.nextVariant(operation), ['string']);
  }

  /**
   * Returns the path of a request, with the required parameters of its query.
   *
   * @param id replaces the last parameter of the path; default: that of an existing resource
   */
  pathOf(operation: Operation, id?: string): string {
    let known = '';
    const segments = operation.path.split('/').map((segment, at, all) => {
      known += at === 0 ? segment : `/${segment}`;
      if (!segment.startsWith('{')) return segment;
      const isLast = !all.slice(at + 1).some((each) => each.startsWith('{'));
      return isLast && id !== undefined ? id : (this.ids.get(known) ?? this.exampleId(operation, segment));
    });
    const required = parametersIn(operation, 'query').filter((each) => each.required === true);
    const query = required.map(({ name, schema, example }) =>
      queryText(name, example ?? exampleOf(schema, this.probe.api.schemas) ?? ''),
    );
    return `${segments.join('/')}${query.length > 0 ? `?${query.join('&')}` : ''}`;
  }

  private async createSome(operation: Operation, count: number): Promise<number> {
    let created = 0;
    for (let at = 0; at < count; at += 1) {
      if (await this.create(operation)) created += 1;
    }
    return created;
  }

  private nextVariant(operation: Operation): number {
    const variant = this.variants.get(operation) ?? 0;
    this.variants.set(operation, variant + 1);
    return variant;
  }

  /** Returns the example of a body; variant 0 is the example itself. */
  private variantOf(schema: Schema | undefined, variant: number, types: readonly string[]): unknown {
    if (schema === undefined) return undefined;
    const { api } = this.probe;
    let body = exampleOf(schema, api.schemas);
    if (variant === 0) return body;
    for (const [place, field] of api.placesOf(schema)) {
      const isVaried = types.includes(field.type ?? '') && field.enum === undefined;
      const value = variantOfExample(field, variant);
      const varied = isVaried ? replaceAt(body, place, { text: jsonOf(value), value })?.value : undefined;
      if (varied !== undefined && api.errors(schema, varied).length === 0) body = varied;
    }
    return body;
  }

  /** Learns the ids in the address of a created resource, the first of each kind. */
  private learn(location: string): void {
    const values = new URL(location, this.probe.store.url).pathname.split('/').slice(2);
    for (const { path } of this.probe.api.operations) {
      const names = path.split('/').slice(1, values.length + 1);
      const isOf = names.every((name, at) => name.startsWith('{') || name === values[at]);
      if (names.length < values.length || !isOf) continue;
      for (const [at, name] of names.entries()) {
        const key = `/${names.slice(0, at + 1).join('/')}`;
        const value = values[at];
        if (name.startsWith('{') && value !== undefined && !this.ids.has(key)) this.ids.set(key, value);
      }
    }
  }

  private exampleId(operation: Operation, segment: string): string {
    const parameter = parametersIn(operation, 'path').find(({ name }) => `{${name}}` === segment);
    const example =
      parameter?.example ?? (parameter && exampleOf(parameter.schema, this.probe.api.schemas)) ?? 1;
    return encoded(example);
  }
}

/** A later day is also a time of the same form. The example may be the highest or lowest int64. */
function variantOfExample({ type, format, example }: Schema, variant: number): string | number | bigint {
  if (typeof example === 'bigint') return example - BigInt(variant * (example < 0n ? -1 : 1));
  if (type === 'integer') return Number(example) + variant;
  const text = String(example);
  const time = Date.parse(text);
  if (format !== 'date-time' || Number.isNaN(time)) return `${text} ${variant}`;
  return new Date(time + variant * DAY_MS).toISOString();
}
