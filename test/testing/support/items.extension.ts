import { Body, Controller, Get, Module, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiHeader, ApiProperty, ApiSchema, ApiTags, PickType } from '@nestjs/swagger';
import { IsString } from 'class-validator';
import type { FastifyReply } from 'fastify';
import type { EntityManager } from 'typeorm';
import * as store from '../../../src';
import { insufficientScope } from '../../../src/replace';
import { migrationOf } from '../../database/support/extensions';

interface Row {
  readonly id: bigint;
  readonly name: string;
  readonly size: number;
}

const NAME = { description: 'Name of the item.', example: 'North' };
const SIZE = { description: 'Size of the item.', example: 5 };
let visits = 0;

/** Creates an extension with one kind of resource. It keeps each promise of the store except those of its mistakes. */
export function itemsExtension(name: string, mistakes: readonly string[] = []): store.Extension {
  const has = (mistake: string) => mistakes.includes(mistake);
  const table = name.replaceAll('-', '_');
  const scopes = store.defineScopes(name, 'read', 'write');
  const errors = store.defineErrors({
    [`${table}_unknown`]: { status: 404, when: 'no item has this id', message: 'No item has this id.' },
  });
  const unknown = errors[`${table}_unknown`]!;
  const ItemId = () => store.PathId('itemId', 'Identifier of the item.', unknown);
  const anyText: PropertyDecorator = (target, key) => {
    IsString()(target, key);
    ApiProperty({ type: 'string', ...NAME })(target, key);
  };
  const facts = (id: string, scope: string | readonly string[]) => ({
    id: `${table}_${id}`,
    summary: `${id} items`,
    description: `Does ${id} items.`,
    scope,
  });

  @ApiSchema({ description: 'An item.' })
  class Item {
    @store.Int64({ description: 'Identifier of the item.', example: 1 })
    readonly id!: bigint;

    @(has('any text') ? anyText : store.Text({ max: 50, ...NAME }))
    readonly name!: string;

    @ApiProperty({ maximum: 500 })
    @store.Integer({ min: 1, max: has('a bound is ignored') ? 501 : 500, ...SIZE })
    readonly size!: number;
  }
  @ApiSchema({ description: 'An item to add.' })
  class NewItem extends PickType(Item, ['name', 'size']) {}
  @ApiSchema({ description: 'The change of an item.' })
  class Change extends PickType(Item, ['name']) {}
  for (const type of [Item, NewItem, Change])
    Object.defineProperty(type, 'name', { value: table + type.name });

  const read = ([id, own, size]: [bigint, string, number]): Row => ({ id, name: own, size });
  const listed = store.pages({ table, columns: 'id, name, size', read });

  @ApiTags(name)
  @Controller({ path: name, version: '1' })
  class ItemsController {
    constructor(private readonly sql: store.Sql) {}

    @Get()
    @(has('no key is required') ? store.Public() : () => undefined)
    @store.Operation({
      ...facts('list', has('a scope is not enough') ? [scopes.read, scopes.write] : scopes.read),
      returns: [200, [Item], 'A page of items.'],
    })
    list(@Query() query: store.SortedPageQuery, @Res({ passthrough: true }) { request }: FastifyReply) {
      const isEnough = !has('a scope is not enough') || request.principal!.scopes.includes(scopes.write);
      if (!isEnough) throw insufficientScope(scopes.write);
      const rows = (order: string) =>
        this.rows(`SELECT * FROM ${table} ORDER BY ${order} LIMIT $1`, [query.limit]);
      if (has('a list is sorted by name')) return rows('name');
      return has('a cursor is ignored') ? rows('id') : listed.list(this.sql, query);
    }

    @Post()
    @store.Operation({ ...facts('create', scopes.write), returns: [201, Item, 'The created item.'] })
    @(has('a response is not kept')
      ? ApiHeader({ name: 'Idempotency-Key', required: false })
      : () => undefined)
    create(
      @Body() body: NewItem,
      @(has('a response is not kept') ? () => undefined : store.Idempotent()) once?: store.Once,
    ) {
      if (!once) return this.insert(body);
      return once(async (transaction) => {
        if (has('a creation is repeated')) await this.insert({ name: 'again', size: 1 });
        return this.insert(body, transaction);
      });
    }

    @Get(':itemId')
    @store.Operation({ ...facts('get', scopes.read), returns: [200, Item, 'The item.'] })
    async get(@ItemId() id: bigint) {
      const [row] = await this.rows(`SELECT * FROM ${table} WHERE id = $1`, [id]);
      if (has('an unknown id is found')) return row ?? { id, name: 'none', size: 1 };
      if (!row) throw unknown();
      if (has('a response is undocumented')) return { ...row, size: null };
      visits += 1;
      return has('a body is never the same') ? { ...row, size: (visits % 500) + 1 } : row;
    }

    @Patch(':itemId')
    @store.Operation({ ...facts('update', scopes.write), returns: [200, Item, 'The changed item.'] })
    update(
      @ItemId() id: bigint,
      @Body() body: Change,
      @store.IfMatch(Item) precondition: store.Precondition<object>,
    ) {
      return this.sql.transaction(async (transaction) => {
        const lock = `SELECT * FROM ${table} WHERE id = $1 FOR NO KEY UPDATE`;
        const [before] = await this.rows(lock, [id], transaction);
        if (!before) throw unknown();
        const change = `UPDATE ${table} SET name = $2 WHERE id = $1 RETURNING *`;
        const [row] = await this.rows(change, [id, body.name], transaction);
        if (has('a change is not undone')) await transaction.query('COMMIT');
        if (has('another body is compared')) precondition({ ...before, size: before.size + 1 });
        else if (!has('If-Match is ignored')) precondition(before);
        return row;
      });
    }

    private rows(text: string, values: readonly unknown[], transaction?: EntityManager): Promise<Row[]> {
      return this.sql.rows<Row>({ text }, values, transaction);
    }

    private async insert({ name: own, size }: NewItem, transaction?: EntityManager): Promise<Row> {
      const text = `INSERT INTO ${table} (name, size) VALUES ($1, $2) RETURNING *`;
      const [row] = await this.rows(text, [own, size], transaction);
      return row!;
    }
  }

  @Module({ controllers: [ItemsController] })
  class ItemsModule {}

  const columns = 'id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text, size integer';
  return {
    name,
    modules: [ItemsModule],
    migrations: [
      migrationOf(`${table}1795400000000`, `CREATE TABLE ${table} (${columns})`, `DROP TABLE ${table}`),
    ],
    scopes: Object.values(scopes),
    tags: { [name]: 'Items.' },
  };
}
