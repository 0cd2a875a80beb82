import { Body, Controller, Delete, Get, Module, Patch, Post, Query, Res, type Type } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Throttle } from '@nestjs/throttler';
import {
  defineErrors,
  defineScopes,
  type Extension,
  Idempotent,
  IfMatch,
  type Once,
  Operation,
  pages,
  PathId,
  SortedPageQuery,
  Sql,
} from '../../../src';
import type { OperationFacts } from '../../../src/platform/api-docs/operation.decorator';
import { Items, type Row } from './items';
import { bodyOf, CHANGE, dtoOf, type Fields, ITEM, migrationOf } from './items.parts';

type Handler = (this: Items, ...args: any[]) => unknown;
type HandlerName = 'list' | 'create' | 'get' | 'update' | 'remove';

/** One planted mistake: the parts of a correct extension that it replaces. */
export interface Changes {
  /** Fields of the body, and of the resource. */
  readonly body?: Fields;
  readonly item?: Fields;
  /** False: the body lacks the weight, which is then 5. */
  readonly hasWeight?: boolean;
  readonly list?: Handler;
  readonly create?: Handler;
  readonly get?: Handler;
  readonly update?: Handler;
  readonly remove?: Handler;
  /** The handlers of the extension. Default: all. */
  readonly handlers?: readonly HandlerName[];
  /** Replaces facts of `@Operation`; false leaves the decorator out. */
  readonly facts?: Readonly<Record<string, Partial<OperationFacts> | false>>;
  /** Decorators that are added to a handler, above the others. */
  readonly decorators?: Readonly<Record<string, readonly MethodDecorator[]>>;
  /** Replaces the type of the body. */
  readonly bodyType?: Type;
  readonly queryType?: Type;
  /** Replaces `@PathId()`. */
  readonly itemId?: ParameterDecorator;
  readonly tags?: readonly string[];
  readonly declaredTags?: Extension['tags'];
  readonly up?: (table: string) => string;
  /** The limit of each route in a minute. */
  readonly throttle?: number;
  /** True: it declares the events `${name}.created`. */
  readonly hasEvents?: true;
}

const read = ([id, name, weight, places, note]: [bigint, string, bigint, number, string | null]): Row => ({
  id,
  name,
  weight,
  places,
  note,
});

/** Creates an extension with a list, a creation and a resource, and one planted mistake. */
export function itemsExtension(name: string, changes: Changes = {}): Extension {
  const scopes = defineScopes(name, 'read', 'write');
  const code = name.replaceAll('-', '_');
  const errors = defineErrors({
    [`${code}_taken`]: { status: 409, when: 'the name is taken', message: 'The name is taken.' },
    [`${code}_unknown`]: {
      status: 404,
      when: 'no item has this id',
      message: 'There is no item with this id.',
    },
  });
  const taken = errors[`${code}_taken`]!;
  const unknown = errors[`${code}_unknown`]!;
  const NewItem = changes.bodyType ?? dtoOf(`New${code}`, bodyOf(changes));
  const Item = dtoOf(code, { ...ITEM, ...changes.item });
  const Change = dtoOf(`Change${code}`, CHANGE);
  const path = `/${name}`;

  const listed = pages({ table: code, columns: Object.keys(ITEM).join(', '), read, type: Item });

  class ItemsController extends Items {
    override readonly facts = { path, table: code, pages: listed, taken, unknown };
  }
  Reflect.defineMetadata('design:paramtypes', [Sql], ItemsController);

  const route = (
    handler: HandlerName,
    method: MethodDecorator,
    facts: OperationFacts,
    given: readonly (readonly [ParameterDecorator, unknown])[],
  ): void => {
    if (changes.handlers?.includes(handler) === false) return;
    const changed = changes.facts?.[handler];
    const declared = { ...facts, ...changed };
    const run: Handler = changes[handler] ?? Items.prototype[handler];
    // Nest keeps its metadata on the function, so each extension needs its own.
    const own = function (this: Items, ...args: any[]) {
      if (!declared.idempotent) return run.apply(this, args);
      const once: Once = args.at(-1);
      return once(async (transaction) => run.apply(this, [...args.slice(0, -1), transaction]));
    };
    Object.defineProperty(own, 'name', { value: handler });
    Object.defineProperty(ItemsController.prototype, handler, { value: own, configurable: true });
    const target = ItemsController.prototype;
    const parameters = [...given, ...(declared.idempotent ? [[Idempotent(), Function] as const] : [])];
    for (const [at, [decorate]] of parameters.entries()) decorate(target, handler, at);
    Reflect.defineMetadata(
      'design:paramtypes',
      parameters.map(([, type]) => type),
      target,
      handler,
    );
    const decorators = [
      ...(changes.decorators?.[handler] ?? []).toReversed(),
      method,
      ...(changed === false ? [] : [Operation(declared)]),
    ];
    const descriptor = Object.getOwnPropertyDescriptor(target, handler)!;
    Object.defineProperty(target, handler, Reflect.decorate(decorators, target, handler, descriptor));
  };
  const reply = [Res({ passthrough: true }), Object] as const;
  const precondition = [IfMatch(Item), Function] as const;
  const itemId = [changes.itemId ?? PathId('itemId', 'Identifier of the item.', unknown), BigInt] as const;
  const list: OperationFacts = {
    id: `${code}_list`,
    summary: 'List items',
    description: 'Lists the items.',
    scope: scopes.read,
    returns: [200, [Item], 'A page of items.'],
  };
  route('list', Get(), list, [[Query(), changes.queryType ?? SortedPageQuery], reply]);
  const create: OperationFacts = {
    id: `${code}_create`,
    summary: 'Add an item',
    description: 'Adds an item.',
    scope: scopes.write,
    idempotent: true,
    returns: [201, Item, 'The created item.'],
    rejects: [taken],
  };
  route('create', Post(), create, [[Body(), NewItem], reply]);
  const get: OperationFacts = {
    id: `${code}_get`,
    summary: 'Get an item',
    description: 'Returns an item.',
    scope: scopes.read,
    returns: [200, Item, 'The item.'],
  };
  route('get', Get(':itemId'), get, [itemId]);
  const update: OperationFacts = {
    id: `${code}_update`,
    summary: 'Change an item',
    description: 'Changes the note of an item.',
    scope: [scopes.read, scopes.write],
    returns: [200, Item, 'The changed item.'],
  };
  route('update', Patch(':itemId'), update, [itemId, [Body(), Change], precondition]);
  const remove: OperationFacts = {
    id: `${code}_remove`,
    summary: 'Remove an item',
    description: 'Removes an item.',
    scope: scopes.write,
    returns: [204, undefined, 'The item was removed.'],
  };
  route('remove', Delete(':itemId'), remove, [itemId, precondition]);
  if (changes.tags?.length !== 0) ApiTags(...(changes.tags ?? [name]))(ItemsController);
  Controller({ path: name, version: '1' })(ItemsController);

  if (changes.throttle !== undefined) {
    Throttle({ default: { limit: changes.throttle, ttl: 60_000 } })(ItemsController);
  }

  @Module({ controllers: [ItemsController] })
  class ItemsModule {}

  return {
    name,
    modules: [ItemsModule],
    migrations: [migrationOf(code, changes)],
    scopes: Object.values(scopes),
    tags: changes.declaredTags ?? { [name]: 'Items.' },
    ...(changes.hasEvents && { events: { [`${name}.created`]: { data: Item, scope: scopes.read } } }),
  };
}
