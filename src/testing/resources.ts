import { DAY_MS } from '../platform/runtime/time';
import { type Api, isSuccess, pathOfLink } from './api';
import { encoded, isBatch, type Operation, parametersIn, type Schema, withQuery } from './api-document';
import type { TestRequest, TestResponse } from './http-client';
import { changedAt, jsonIn, type Place, valueAt } from './json';

/** The resources of each kind that exist before other promises are checked; a page of two then has a next one. */
const COUNT = 3;
/** Their texts and times are in another order than their ids. */
const SHUFFLED = [2, 0, 1];

/** Ids that no resource has. */
export const UNKNOWN_IDS = ['9223372036854775807', '-9223372036854775808'] as const;

export interface Resource {
  /** Below the base URL: `/pets/7`. */
  readonly path: string;
  /** The same in the document: `/pets/{petId}`; empty if no operation has it. */
  readonly pattern: string;
  readonly operation: Operation;
  readonly body: unknown;
  readonly response: TestResponse;
}

/** Creates resources from the documented examples, and knows their ids. */
export class Resources {
  /** All that were created and not removed. */
  readonly created: Resource[] = [];
  private readonly variants = new Map<Operation, number>();

  constructor(private readonly api: Api) {}

  /** Creates resources by each POST. */
  async createAll(): Promise<void> {
    for (const operation of this.api.operations.filter(isCreation)) {
      for (let at = 0; at < COUNT; at += 1) await this.create(operation);
    }
  }

  /** Tries a body that refers to resources that exist, then one with new ones and other numbers. */
  async create(operation: Operation, headers: TestRequest['headers'] = {}): Promise<Resource | undefined> {
    const variant = this.nextVariant(operation);
    for (const types of [['string'], ['string', 'integer']]) {
      const plain = this.variantOf(operation.body, variant, types);
      const body = types.length > 1 ? await this.withNewOthers(operation, plain) : plain;
      const response = await this.api.send(operation, { path: this.pathOf(operation), body, headers });
      if (isSuccess(response)) return this.add(operation, body, response);
    }
    return undefined;
  }

  /** Creates a resource at a path with a parameter, such as `/pets/{petId}`; undefined if no operation creates one. */
  async createAt(path: string): Promise<Resource | undefined> {
    const operation = this.api.document.at('POST', parentOf(path));
    return operation && isCreation(operation) ? this.create(operation) : undefined;
  }

  /** Returns a body that refers to new resources: no conflict with other requests rejects it. */
  async newBodyWithOthers(operation: Operation): Promise<unknown> {
    return this.withNewOthers(operation, this.newBody(operation));
  }

  /**
   * Keeps what a successful response created, to use it; a replayed response created nothing.
   *
   * @returns the resource; the first one of a batch
   */
  add(operation: Operation, body: unknown, response: TestResponse): Resource | undefined {
    const resources = [jsonIn(response.text)]
      .flat()
      .map((item) => this.resourceOf(valueAt(item, 'id'), operation, body, response));
    const isReplayed = response.headers['idempotent-replayed'] !== undefined;
    if (response.status === 201 && !isReplayed) this.created.push(...resources);
    return resources[0];
  }

  private resourceOf(id: unknown, operation: Operation, body: unknown, response: TestResponse): Resource {
    const linked = pathOfLink(response.headers.location);
    const known =
      id === undefined ? linked : `${collectionOf(operation, this.pathOf(operation))}/${encoded(id)}`;
    // A Location that names another id could lead to a resource of others.
    const isOwn = linked?.endsWith(`/${encoded(id)}`) === true;
    const path = (isOwn ? linked : known) ?? `${operation.path}/of-an-unknown-id`;
    const found = this.api.document.patternOf(`/v1${path}`) ?? '';
    const pattern = found.endsWith('}') ? found : '';
    return { path, pattern, operation, body, response };
  }

  /** The resource was removed. */
  forget(path: string): void {
    const at = this.created.findIndex((each) => each.path === path);
    if (at >= 0) this.created.splice(at, 1);
  }

  /** Returns the documented example of the body, with texts, or values of other types, that no earlier body has. */
  newBody(operation: Operation, types: readonly string[] = ['string']): unknown {
    return this.variantOf(operation.body, this.nextVariant(operation), types);
  }

  /**
   * Returns the path of a request, with the required parameters of its query.
   *
   * @param id replaces the last parameter of the path; default: the id of a resource of this run, or the example
   */
  pathOf(operation: Operation, id?: string): string {
    const last = operation.path.lastIndexOf('{');
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (segment, name: string, at: number) => {
      if (at === last && id !== undefined) return id;
      const known = this.idAt(operation.path.slice(0, at + segment.length));
      const parameter = parametersIn(operation, 'path').find((each) => each.name === name);
      const example = parameter?.example ?? parameter?.schema?.example ?? 1;
      return known ?? encoded(example);
    });
    const required = parametersIn(operation, 'query').filter((each) => each.required === true);
    return required.reduce((whole, { name, example }) => withQuery(whole, name, example ?? ''), path);
  }

  /** Returns the path that a member of the body refers to: its last parameter has the same name, such as `petId`. */
  pathReferredTo(place: Place): string | undefined {
    const parameter = parameterOf(place);
    return this.api.document.operations.find(({ path }) => path.endsWith(parameter))?.path;
  }

  private async withNewOthers({ body: schema }: Operation, body: unknown): Promise<unknown> {
    let changed = body;
    for (const [place] of this.api.document.placesOf(schema ?? {})) {
      const path = this.pathReferredTo(place);
      const other = path === undefined ? undefined : await this.createAt(path);
      if (other) changed = changedAt(changed, place, valueOfId(other));
    }
    return changed;
  }

  /** Returns the id of the newest resource of this run, if there is one. */
  private referenceAt(place: Place): unknown {
    const other = this.created.findLast(({ pattern }) => pattern.endsWith(parameterOf(place)));
    return other && valueOfId(other);
  }

  private idAt(path: string): string | undefined {
    const resource = this.created.find(({ pattern }) => pattern === path);
    return resource && idOf(resource);
  }

  private nextVariant(operation: Operation): number {
    const variant = this.variants.get(operation) ?? 0;
    this.variants.set(operation, variant + 1);
    return SHUFFLED[variant] ?? variant;
  }

  /** Returns the example of a body with other values of these types; variant 0 is the example itself. */
  private variantOf(schema: Schema | undefined, variant: number, types: readonly string[]): unknown {
    if (schema === undefined) return undefined;
    const { document } = this.api;
    let body = document.exampleOf(schema);
    for (const [place, field] of document.placesOf(schema)) {
      const isVaried = variant > 0 && types.includes(field.type ?? '') && field.enum === undefined;
      const varying = isVaried ? variantOfExample(field, variant) : undefined;
      const value = this.pathReferredTo(place) === undefined ? varying : this.referenceAt(place);
      if (value === undefined || valueAt(body, ...place) === undefined) continue;
      const varied = changedAt(body, place, value);
      if (document.errors(schema, varied).length === 0) body = varied;
    }
    return body;
  }
}

/** Returns the path parameter that a member refers to: `{petId}` for `petId`, and for an item of `petIds`. */
function parameterOf(place: Place): string {
  const isItem = typeof place.at(-1) === 'number';
  const name = String(place.findLast((step) => typeof step === 'string'));
  return `{${isItem ? name.replace(/s$/, '') : name}}`;
}

export function isCreation({ method, responses }: Operation): boolean {
  return method === 'POST' && responses['201'] !== undefined;
}

export function idOf({ path }: Resource): string {
  return path.split('/').at(-1) ?? '';
}

function valueOfId(resource: Resource): unknown {
  return jsonIn(idOf(resource)) ?? idOf(resource);
}

/** Returns the path of the collection of a resource: `/pets` for `/pets/{petId}`. */
export function parentOf(path: string): string {
  return path.replace(/\/[^/]+$/, '');
}

/** Returns the path of the list that gets what an operation creates. */
export function collectionOf(operation: Operation, path = operation.path): string {
  return isBatch(operation) ? parentOf(path) : path;
}

/** A later day is also a time of the same form. A bigint may be the highest int64. */
function variantOfExample({ format, example }: Schema, variant: number): unknown {
  if (typeof example === 'bigint') return example - BigInt(variant);
  if (typeof example === 'number') return example + variant;
  const text = String(example);
  const time = Date.parse(text);
  if (format !== 'date-time' || Number.isNaN(time)) return `${text} ${variant}`;
  return new Date(time + variant * DAY_MS).toISOString();
}
