/** The use of a schema. A request may later allow more; a response may not contain new values. */
type Use = 'request' | 'response';

const FEWER = ['maximum', 'maxLength', 'maxItems', 'maxProperties'];
const MORE = ['minimum', 'minLength', 'minItems', 'minProperties'];
const FIXED = ['type', 'format', 'pattern', 'default', 'nullable'];

/**
 * Finds changes of an OpenAPI document that break clients:
 * - anything that is removed or narrowed;
 * - new values in a known part of a response.
 *
 * Additions do not break clients: operations, statuses, error codes, headers, response members, optional parameters, and
 * optional request members.
 *
 * @returns one line for each breaking change
 */
export function breakingChanges(before: any, after: any): string[] {
  return new Comparison(before, after).run();
}

class Comparison {
  private readonly found: string[] = [];

  constructor(
    private readonly before: any,
    private readonly after: any,
  ) {}

  run(): string[] {
    for (const [path, item] of Object.entries<any>(this.before.paths)) {
      for (const [method, operation] of Object.entries<any>(item)) {
        this.operation(`${method} ${path}`, operation, this.after.paths[path]?.[method]);
      }
    }
    this.keys(
      'security scheme',
      this.before.components.securitySchemes,
      this.after.components.securitySchemes,
    );
    return this.found;
  }

  private operation(at: string, before: any, after: any): void {
    if (after === undefined) return this.report(at, 'removed');
    if (before.operationId !== after.operationId) this.report(at, 'has another operationId');
    if (!same(before.security, after.security)) this.report(at, 'asks for another authorization');
    this.parameters(at, before.parameters ?? [], after.parameters ?? []);
    this.requestBody(`${at} body`, before.requestBody, after.requestBody);
    for (const [status, response] of Object.entries<any>(before.responses)) {
      this.response(`${at} ${status}`, this.old(response), this.new(after.responses[status]));
    }
  }

  private parameters(at: string, before: any[], after: any[]): void {
    const sameAs = (one: any) => (other: any) => one.name === other.name && one.in === other.in;
    for (const parameter of before) {
      const now = after.find(sameAs(parameter));
      const where = `${at} ${parameter.in} ${parameter.name}`;
      if (now === undefined) this.report(where, 'removed');
      else this.schema('request', where, parameter.schema, this.single(parameter, now));
    }
    for (const parameter of after) {
      const was = before.find(sameAs(parameter));
      if (parameter.required && !was?.required)
        this.report(`${at} ${parameter.in} ${parameter.name}`, 'is required');
    }
  }

  /** A parameter that may now be repeated takes the single value as before, unless its values are in one text. */
  private single(before: any, now: any): any {
    const isRepeated = now.in === 'query' && now.schema.type === 'array' && now.explode !== false;
    const wasSingle = this.old(before.schema)?.type !== 'array';
    return isRepeated && wasSingle && !(now.schema.minItems > 1) ? now.schema.items : now.schema;
  }

  private requestBody(at: string, before: any, after: any): void {
    if (after?.required && !before?.required) this.report(at, 'is required');
    if (before) this.content('request', at, before.content, after?.content);
  }

  private response(at: string, before: any, after: any): void {
    if (after === undefined) return this.report(at, 'removed');
    for (const [name, reference] of Object.entries<any>(before.headers ?? {})) {
      const header = this.old(reference);
      const now = this.new(after.headers?.[name]);
      if (now === undefined) this.report(`${at} header ${name}`, 'removed');
      else if (header.required && !now.required) this.report(`${at} header ${name}`, 'may be missing');
      else this.schema('response', `${at} header ${name}`, header.schema, now.schema);
    }
    this.content('response', at, before.content, after.content);
  }

  private content(use: Use, at: string, before: any = {}, after: any = {}): void {
    this.keys(`${at} media type`, before, after);
    for (const [type, { schema, examples }] of Object.entries<any>(before)) {
      if (!after[type]) continue;
      this.schema(use, at, schema, after[type].schema);
      // An error response has an example of each code.
      this.keys(`${at} example`, examples, after[type].examples);
    }
  }

  private schema(use: Use, at: string, unresolvedBefore: any, unresolvedAfter: any): void {
    const [before, after] = [
      merged(this.old(unresolvedBefore), this.before),
      merged(this.new(unresolvedAfter), this.after),
    ];
    this.limits(use, at, before, after);
    this.enumeration(use, at, before.enum, after.enum);
    this.required(use, at, before.required ?? [], after.required ?? []);
    this.keys(`${at} member`, before.properties, after.properties);
    for (const [name, property] of Object.entries(before.properties ?? {})) {
      const now = after.properties?.[name];
      if (now !== undefined) this.schema(use, `${at}.${name}`, property, now);
    }
    if (before.items) this.schema(use, `${at}[]`, before.items, after.items ?? {});
  }

  private limits(use: Use, at: string, before: any, after: any): void {
    for (const key of FIXED) if (!same(before[key], after[key])) this.report(at, `has another ${key}`);
    for (const [keys, none, sign] of [
      [FEWER, Infinity, 1],
      [MORE, -Infinity, -1],
    ] as const) {
      for (const key of keys) {
        const growth = sign * ((after[key] ?? none) - (before[key] ?? none)) || 0;
        if (growth < 0) this.report(at, `has a narrower ${key}`);
        if (growth > 0 && use === 'response') this.report(at, `has a wider ${key}`);
      }
    }
  }

  private enumeration(use: Use, at: string, before?: string[], after?: string[]): void {
    for (const value of before ?? [])
      if (!after?.includes(value)) this.report(at, `lacks the value ${value}`);
    if (after && !before) this.report(at, 'has become an enumeration');
    if (use === 'request' || !before) return;
    for (const value of after ?? [])
      if (!before.includes(value)) this.report(at, `has the new value ${value}`);
  }

  private required(use: Use, at: string, before: string[], after: string[]): void {
    const [had, has, word] =
      use === 'request' ? [before, after, 'is required'] : [after, before, 'may be missing'];
    for (const name of has) if (!had.includes(name)) this.report(`${at}.${name}`, word);
  }

  private keys(kind: string, before: object = {}, after: object = {}): void {
    for (const key of Object.keys(before)) if (!(key in after)) this.report(`${kind} ${key}`, 'removed');
  }

  private report(at: string, problem: string): void {
    this.found.push(`${at}: ${problem}`);
  }

  private old(node: any): any {
    return resolved(node, this.before);
  }

  private new(node: any): any {
    return resolved(node, this.after);
  }
}

function resolved(node: any, document: any): any {
  if (node?.$ref === undefined) return node;
  return String(node.$ref)
    .split('/')
    .slice(1)
    .reduce((at, key) => at[key], document);
}

/** Merges a schema with the schemas of its `allOf`. */
function merged({ allOf = [], ...schema }: any, document: any): any {
  return Object.assign({}, ...allOf.map((each: any) => resolved(each, document)), schema);
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
