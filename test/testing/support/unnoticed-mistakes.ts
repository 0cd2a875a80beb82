import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'lossless-json';
import { Flag, Integer, OneOf, SortedPageQuery, Text } from '../../../src';
import { cutPage, pageRequestOf } from '../../../src/platform/paging/page';
import { Items, type Row } from './items';
import type { Changes } from './items.extension';
import { createTable, NOTE } from './items.parts';
import { type Mistakes, on, STORED } from './mistake';

const SIZES = { name: 'MistakenSize', description: 'Size of an item.', values: ['s', 'm'] };
const QUIET = { description: 'True if it is quiet.', example: true };
const WEIGHT = { description: 'Weight in grams.', example: 5 };

class PlacesQuery extends SortedPageQuery {
  @Integer({ min: 1, max: 500, optional: true, description: 'Only items with so many.', example: 12 })
  readonly places?: number;
}

/** Lists the items that a condition selects, as if the query had no filters. */
async function listWhere(items: Items, condition: string, { limit, cursor }: SortedPageQuery) {
  const { table, path } = items.facts;
  const request = pageRequestOf(path, { limit, ...(cursor !== undefined && { cursor }) });
  const text = `SELECT * FROM ${table} WHERE id >= $1 AND ${condition} ORDER BY id LIMIT $2`;
  return cutPage(request, await items.sql.rows<Row>({ text }, [request.first, request.count]));
}

let slowResponses = 0;

/** Items that have their account as note. */
export const OF_ACCOUNT: Changes = {
  create(body, reply, transaction) {
    const note = String(reply.request.principal.accountId);
    return this.insert({ ...body, note }, transaction);
  },
  list(query, reply) {
    const { accountId } = reply.request.principal;
    return listWhere(this, `note = '${accountId}'`, query);
  },
};

/** Mistakes that only two accounts, a second page, a bound, a rollback, concurrency or time show. */
export const UNNOTICED_MISTAKES: Mistakes = {
  ...on(['list', 'create', 'get'], {
    'of-every-account': {
      ...OF_ACCOUNT,
      sentence: /GET .* responds 200 to a key of an account whose list lacks the resource/,
    },
    'event-of-another-account': {
      ...OF_ACCOUNT,
      sentence: /The event event-of-another-account.created .* an account whose list lacks the resource/,
      hasEvents: true,
      async create(body, reply, transaction) {
        const row = await OF_ACCOUNT.create?.call(this, body, reply, transaction);
        const event = ['event-of-another-account.created', stringify(row)];
        await this.sql.rows('SELECT record_event(1, $1, $2)', event, transaction);
        return row;
      },
    },
  }),
  ...on(['get', 'update'], {
    'changed-without-a-lock': {
      sentence: /PATCH .* responds 200 to \d of 4 concurrent changes with one ETag in If-Match/,
      ...STORED,
      update(id, { note }, precondition) {
        return this.sql.transaction(async (transaction) => {
          precondition((await this.find(id)) ?? {});
          return this.write(id, note, transaction);
        });
      },
    },
  }),
  ...on(['list', 'create'], {
    'ordered-by-name': {
      sentence: /is not in ascending order of id/,
      handlers: ['list'],
      ...STORED,
      list(query) {
        const text = `SELECT * FROM ${this.facts.table} ORDER BY name LIMIT $1`;
        return this.sql.rows({ text }, [query.limit]);
      },
    },
    'filter-not-in-link': {
      sentence: /has a next page without places = 12. Link must keep each filter/,
      handlers: ['list'],
      ...STORED,
      queryType: PlacesQuery,
      list(query: PlacesQuery) {
        return listWhere(this, query.places === undefined ? 'true' : `places = ${query.places}`, query);
      },
    },
    'filter-not-applied': {
      sentence: /has an item with places = 12 for places = 500. Filter by it/,
      handlers: ['list'],
      ...STORED,
      queryType: PlacesQuery,
    },
    'work-outside-its-transaction': {
      sentence: /keeps what it created although its transaction was rolled back/,
      create(body) {
        return this.insert(body);
      },
    },
  }),
  ...on(['create', 'get', 'update'], {
    'changed-to-the-example': {
      sentence: /PATCH .* responds with note = Quiet to note = Quiet \d, and must respond with Quiet \d/,
      update(id, _body, precondition) {
        return Items.prototype.update.call(this, id, { note: 'Quiet' }, precondition);
      },
    },
    'null-ignored': {
      sentence: /PATCH .* responds with note = Quiet \d to note = null, and must respond with null/,
      async update(id, { note }, precondition) {
        const { note: before } = (await this.get(id)) as Row;
        return Items.prototype.update.call(this, id, { note: note ?? before! }, precondition);
      },
    },
    'null-not-stored': {
      sentence: /PATCH .* responds with note = Quiet \d to note = null, and must respond with null/,
      async update(id, { note }, precondition) {
        const { note: before } = (await this.get(id)) as Row;
        await Items.prototype.update.call(this, id, { note: note ?? before! }, precondition);
        return { ...((await this.get(id)) as Row), note };
      },
    },
  }),
  ...on(['create'], {
    'branch-that-throws': {
      sentence: /responds 500 to size = "m": no such branch/,
      body: { size: [OneOf(SIZES, { optional: true, description: 'Size.', example: 's' })] },
      create(body, _reply, transaction) {
        if ((body as { size?: string }).size === 'm') throw new TypeError('no such branch');
        return this.insert(body, transaction);
      },
    },
    'optional-lost': {
      sentence: /POST .* responds with note = nothing to note = Quiet/,
      body: NOTE,
      item: { note: [Text({ max: 100, optional: true, description: 'A note.', example: 'Quiet' })] },
      async create(body, _reply, transaction) {
        const { note: _, ...row } = await this.insert(body, transaction);
        return row;
      },
    },
    'flag-lost': {
      sentence: /POST .* responds with isQuiet = true to isQuiet = false/,
      body: { isQuiet: [Flag(QUIET)] },
      item: { isQuiet: [Flag(QUIET)] },
      async create(body, _reply, transaction) {
        return { ...(await this.insert(body, transaction)), isQuiet: true };
      },
    },
    'column-below-its-schema': {
      sentence: /responds 500 to weight = 9000000000/,
      body: { weight: [Integer({ min: 1, max: 9_000_000_000, ...WEIGHT })] },
      item: { weight: [Integer({ min: 1, max: 9_000_000_000, ...WEIGHT })] },
      up: (table) => createTable(table).replace('weight bigint', 'weight integer'),
    },
  }),
  ...on(['list'], {
    slow: {
      sentence: /takes more than a second for each response/,
      async list(query, reply) {
        slowResponses += 1;
        if (slowResponses <= 3) await sleep(1_050);
        return Items.prototype.list.call(this, query, reply);
      },
    },
  }),
};
