import {
  Body,
  Controller,
  Delete,
  Get,
  Module,
  Param,
  Patch,
  Post,
  Query,
  Res,
  type Type,
} from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Throttle } from '@nestjs/throttler';
import {
  defineErrors,
  defineScopes,
  type Extension,
  IdempotentWork,
  IdPipe,
  Links,
  Operation,
  type OperationFacts,
  PageQuery,
  Sql,
} from '../../../src';
import { Items } from './items';
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
  readonly idPipe?: Type;
  readonly tags?: readonly string[];
  readonly declaredTags?: Extension['tags'];
  readonly up?: (table: string) => string;
  /** The limit of each route in a minute. */
  readonly throttle?: number;
}

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

  class ItemsController extends Items {
    override readonly facts = { path, table: code, taken, unknown, type: Item };
  }
  Reflect.defineMetadata('design:paramtypes', [Sql, Links, IdempotentWork], ItemsController);

  const route = (
    handler: HandlerName,
    method: MethodDecorator,
    facts: OperationFacts,
    parameters: readonly (readonly [ParameterDecorator, unknown])[],
  ): void => {
    if (changes.handlers?.includes(handler) === false) return;
    const run: Handler = changes[handler] ?? Items.prototype[handler];
    // Nest keeps its metadata on the function, so each extension needs its own.
    const own = function (this: Items, ...args: unknown[]) {
      return run.apply(this, args);
    };
    Object.defineProperty(own, 'name', { value: handler });
    Object.defineProperty(ItemsController.prototype, handler, { value: own, configurable: true });
    const target = ItemsController.prototype;
    for (const [at, [decorate]] of parameters.entries()) decorate(target, handler, at);
    Reflect.defineMetadata(
      'design:paramtypes',
      parameters.map(([, type]) => type),
      target,
      handler,
    );
    const changed = changes.facts?.[handler];
    const descriptor = Object.getOwnPropertyDescriptor(target, handler)!;
    const decorators = [...(changed === false ? [] : [Operation({ ...facts, ...changed })]), method];
    for (const each of [...decorators, ...(changes.decorators?.[handler] ?? [])])
      each(target, handler, descriptor);
  };
  const reply = [Res({ passthrough: true }), Object] as const;
  const itemId = [Param('itemId', changes.idPipe ?? new IdPipe(unknown)), BigInt] as const;
  const ofItem = { pathIds: { itemId: 'Identifier of the item.' }, rejects: [unknown] };
  const list: OperationFacts = {
    id: `${code}_list`,
    summary: 'List items',
    description: 'Lists the items.',
    scope: scopes.read,
    returns: [200, [Item], 'A page of items.'],
  };
  route('list', Get(), list, [[Query(), changes.queryType ?? PageQuery], reply]);
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
    ...ofItem,
    id: `${code}_get`,
    summary: 'Get an item',
    description: 'Returns an item.',
    scope: scopes.read,
    returns: [200, Item, 'The item.'],
  };
  route('get', Get(':itemId'), get, [itemId]);
  const update: OperationFacts = {
    ...ofItem,
    id: `${code}_update`,
    summary: 'Change an item',
    description: 'Changes the note of an item.',
    scope: [scopes.read, scopes.write],
    conditional: true,
    returns: [200, Item, 'The changed item.'],
  };
  route('update', Patch(':itemId'), update, [itemId, [Body(), Change], reply]);
  const remove: OperationFacts = {
    ...ofItem,
    id: `${code}_remove`,
    summary: 'Remove an item',
    description: 'Removes an item.',
    scope: scopes.write,
    conditional: true,
    returns: [204, undefined, 'The item was removed.'],
  };
  route('remove', Delete(':itemId'), remove, [itemId, reply]);
  if (changes.tags?.length !== 0) ApiTags(...(changes.tags ?? [name]))(ItemsController);
  Controller({ path: name, version: '1' })(ItemsController);

  if (changes.throttle !== undefined) {
    Throttle({ default: { limit: changes.throttle, ttl: 60_000 } })(ItemsController);
  }

  @Module({ controllers: [ItemsController], providers: [Links] })
  class ItemsModule {}

  return {
    name,
    modules: [ItemsModule],
    migrations: [migrationOf(code, changes)],
    scopes: Object.values(scopes),
    tags: changes.declaredTags ?? { [name]: 'Items.' },
  };
}
