import { HttpCode, Param, ParseIntPipe } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { RequireScope } from '../../../src';
import { IDEMPOTENCY_KEY_HEADER } from '../../../src/platform/idempotency/idempotent.decorator';
import type { Items } from './items';
import type { Changes } from './items.extension';
import { type Mistakes, on, PLAIN, STORED } from './mistake';

/** Responds to a creation with a changed row. */
const creating = (change: (row: any) => unknown): NonNullable<Changes['create']> =>
  async function (this: Items, body) {
    return change(await this.insert(body));
  };

/** Creates an item, and prints it before the platform sees its id. */
const printing: NonNullable<Changes['create']> = async function (this: Items, body, reply) {
  const row = await this.insert(body);
  void reply.type('application/json');
  return JSON.stringify({ ...row, id: Number(row.id), weight: Number(row.weight) });
};

/** Responds with an item whose JSON is changed. */
const getting = (change: (row: object) => string): NonNullable<Changes['get']> =>
  async function (this: Items, id) {
    const row = await this.find(id);
    if (!row) throw this.facts.unknown();
    return change({ ...row, id: Number(row.id), weight: Number(row.weight) });
  };

export const RESPONSE_MISTAKES: Mistakes = on(['create'], {
  'created-as-ok': {
    sentence: /responds 200.*status must be one of 201/,
    decorators: { create: [HttpCode(200)] },
    create: printing,
    facts: PLAIN,
  },
  'member-missing': {
    sentence: /responds 500.*"weight" is required/,
    create: creating((row) => ({ ...row, weight: undefined })),
    facts: PLAIN,
  },
  'member-not-declared': {
    sentence: /must NOT have additional properties \(colour\)/,
    handlers: ['create', 'get'],
    get: getting((row) => JSON.stringify({ ...row, colour: 'red' })),
  },
  'member-twice': {
    sentence: /must be JSON \(SyntaxError: Duplicate key 'name'/,
    handlers: ['create', 'get'],
    get: getting((row) => JSON.stringify(row).replace('{', '{"name":"",')),
  },
  'location-missing': {
    sentence: /header location must be there/,
    create: printing,
    facts: PLAIN,
  },
  'header-not-declared': {
    sentence: /header x-colour must not be there/,
    handlers: ['list'],
    list(query, reply) {
      void reply.header('x-colour', 'red');
      return this.rows(0n, query.limit).then((rows) => rows);
    },
  },
  'unknown-as-ok': {
    sentence: /responds 200 if itemId is unknown, and documents 404/,
    handlers: ['get'],
    async get(id) {
      return (await this.find(id)) ?? { id, name: 'none', weight: 0n, places: 1, note: null };
    },
  },
  'id-parsed-as-number': {
    sentence: /responds (400|500) to itemId/,
    handlers: ['get'],
    itemId: Param('itemId', ParseIntPipe),
  },
});

export const DOCUMENT_MISTAKES: Mistakes = on(['list'], {
  'tag-missing': {
    sentence: /has no tag\. Declare one in tags of its extension/,
    tags: [],
    declaredTags: {},
  },
  'tag-not-declared': { sentence: /has the tag .*, which no extension declares/, declaredTags: {} },
  'id-given-twice': {
    sentence: /has the id id_given_twice of another operation/,
    handlers: ['list', 'get'],
    facts: { list: { id: 'id_given_twice' }, get: { id: 'id_given_twice' } },
  },
  'operation-not-declared': {
    sentence: /has no summary. Declare it with @Operation/,
    handlers: ['get'],
    facts: { get: false },
    decorators: { get: [RequireScope('pets:read')] },
  },
});

export const LIST_MISTAKES: Mistakes = on(['list'], {
  'page-without-link': {
    sentence: /has other items on its pages, followed by Link/,
    ...STORED,
    async list(query, reply) {
      void reply;
      return this.rows(0n, query.limit);
    },
  },
  'page-too-large': {
    sentence: /has 3 items on a page with limit=2/,
    ...STORED,
    list() {
      return this.rows(0n, 3);
    },
  },
  'cursor-throws': {
    sentence: /responds 500 to cursor = abc/,
    ...STORED,
    list({ limit, cursor = '0' }) {
      return this.rows(BigInt(cursor), limit);
    },
  },
  'list-without-cursor': {
    sentence: /is a list without the parameter cursor. Its query must extend SortedPageQuery/,
    ...STORED,
    queryType: Object,
    list() {
      return this.rows(0n, 100);
    },
  },
  'replay-missing': {
    sentence: /does not replay the response of an Idempotency-Key/,
    handlers: ['create'],
    create: creating((row) => row),
    facts: PLAIN,
    decorators: { create: [ApiHeader(IDEMPOTENCY_KEY_HEADER)] },
  },
  'replay-creates-twice': {
    sentence: /creates more than once for one Idempotency-Key/,
    handlers: ['list', 'create'],
    async create(body, _reply, transaction) {
      await this.insert({ ...body, name: `${body.name} ${Math.random()}`.slice(0, 50) });
      return this.insert(body, transaction);
    },
  },
});
