import { Param, ParseIntPipe } from '@nestjs/common';
import { ApiExtension, ApiHeader } from '@nestjs/swagger';
import { Public, RequireScope } from '../../../src';
import { IDEMPOTENCY_KEY_HEADER } from '../../../src/platform/idempotency/idempotent.decorator';
import type { Changes } from './items.extension';
import { type Mistakes, on, STORED } from './mistake';

/** Without the checks of Idempotency-Key, for a creation that the mistake replaces. */
const PLAIN: NonNullable<Changes['facts']> = { create: { idempotent: undefined } as never };

export const RESPONSE_MISTAKES: Mistakes = on(['create'], {
  'member-twice': {
    sentence: /must be JSON \(SyntaxError: Duplicate key 'name'/,
    handlers: ['create', 'get'],
    async get(id) {
      const row = await this.find(id);
      if (!row) throw this.facts.unknown();
      const own = { ...row, id: Number(row.id), weight: Number(row.weight) };
      return JSON.stringify(own).replace('{', '{"name":"",');
    },
  },
  'own-error-body': {
    sentence: /responds 409 to .*body must have required property/,
    async create(body, reply) {
      const row = await this.tryInsert(body);
      if (row) return row;
      void reply.code(409).type('application/json');
      return '{"error":"taken"}';
    },
    facts: PLAIN,
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

export const ACCESS_MISTAKES: Mistakes = on(['list'], {
  'public-by-mistake': {
    sentence: /responds 200 to a request without a key, and must respond 401/,
    decorators: { list: [Public()] },
  },
  'scope-of-another': {
    sentence: /requires the scope pets:read, and its description names another/,
    decorators: { list: [RequireScope('pets:read')] },
  },
  'scope-of-any-key': {
    sentence: /responds 403 to a key with the scope pets:write, and its x-required-scopes is empty/,
    facts: { list: { scope: 'any key' } },
    decorators: { list: [RequireScope('pets:read')] },
  },
  'counted-against-its-document': {
    sentence: /counts in a window, and its document has x-uncounted/,
    decorators: { list: [ApiExtension('x-uncounted', true)] },
  },
});

export const DOCUMENT_MISTAKES: Mistakes = on(['list'], {
  'tag-missing': {
    sentence: /has no tag\. Declare one in tags of its extension/,
    tags: [],
    declaredTags: {},
  },
  'tag-not-declared': { sentence: /has the tag .*, which no extension declares/, declaredTags: {} },
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
  'cursor-ignored': {
    sentence: /responds 200 to a cursor of another list, and must respond 400 invalid_cursor/,
    ...STORED,
    list({ limit }) {
      return this.rows(0n, limit);
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
    create(body) {
      return this.insert(body);
    },
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
