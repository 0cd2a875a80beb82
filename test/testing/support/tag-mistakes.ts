import { HttpCode } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import { Int64, SortedPageQuery } from '../../../src';
import { Int64List } from '../../../src/platform/validation/fields';
import { cutPage, pageRequestOf } from '../../../src/platform/paging/page';
import { insufficientScope } from '../../../src/replace';
import { Items } from './items';
import { type Mistakes, on, STORED } from './mistake';

const IDS = { optional: true, description: 'Only these items.', example: [1, 2] } as const;

/** A query whose document allows fewer ids than its validation. */
class TooManyIds extends SortedPageQuery {
  @ApiProperty({ maxItems: 3, required: false })
  @Int64List({ max: 10, ...IDS })
  readonly id?: readonly bigint[];
}

/** A query that takes one id, and whose document has several. */
class SingleId extends SortedPageQuery {
  @ApiPropertyOptional({
    type: 'array',
    items: { type: 'string', maxLength: 20 },
    maxItems: 3,
    description: 'Only these items.',
    example: ['1', '2'],
  })
  @IsOptional()
  @IsString()
  readonly id?: string;
}

@ApiSchema({ description: 'A removed item.' })
class RemovedItem {
  @Int64({ description: 'Identifier of the item.', example: 1 })
  readonly id!: bigint;
}

let visits = 0;

/** Mistakes in entity tags, conditions of changes, responses without a body, scopes, and parameters of lists. */
export const TAG_MISTAKES: Mistakes = {
  ...on(['get'], {
    'body-never-the-same': {
      sentence: /responds 200 to the ETag of its last response, and must respond 304/,
      ...STORED,
      async get(id) {
        const row = await this.find(id);
        if (!row) throw this.facts.unknown();
        visits += 1;
        return { ...row, places: (visits % 500) + 1 };
      },
    },
    'tag-of-its-own': {
      sentence: /has an ETag that is not the hash of its body/,
      ...STORED,
      handlers: ['list'],
      list(query, reply) {
        void reply.header('etag', `"${'A'.repeat(43)}"`);
        return this.rows(0n, query.limit);
      },
    },
  }),
  ...on(['get', 'update'], {
    'if-match-ignored': {
      sentence: /PATCH .* responds 200 to an If-Match of another state, and must respond 412/,
      ...STORED,
      async update(id, { note }) {
        return (await this.write(id, note)) ?? unknownOf(this);
      },
    },
    'if-match-too-late': {
      sentence: /responds 412 to an If-Match of another state, and changes the resource/,
      ...STORED,
      async update(id, { note }, precondition) {
        const before = (await this.find(id)) ?? unknownOf(this);
        const changed = await this.write(id, note);
        precondition(before);
        return changed;
      },
    },
    'if-match-of-another-body': {
      sentence: /responds 412 to the current ETag in If-Match/,
      ...STORED,
      async update(id, { note }, precondition) {
        const before = (await this.find(id)) ?? unknownOf(this);
        precondition({ ...before, places: before.places! + 1 });
        return this.write(id, note);
      },
    },
    'scope-of-two-rejected': {
      sentence:
        /responds 403 to a key with the scope scope-of-two-rejected:read, and its description admits it/,
      ...STORED,
      handlers: ['list'],
      facts: { list: { scope: ['scope-of-two-rejected:read', 'scope-of-two-rejected:write'] } },
      list(query, reply) {
        const write = 'scope-of-two-rejected:write';
        if (!reply.request.principal.scopes.includes(write)) throw insufficientScope(write);
        return Items.prototype.list.call(this, query, reply);
      },
    },
  }),
  ...on(['get', 'remove'], {
    'removal-not-conditional': {
      sentence: /DELETE .* responds 204 to an If-Match of another state, and must respond 412/,
      ...STORED,
      async remove(id) {
        if (!(await this.find(id))) throw this.facts.unknown();
        await this.delete(id);
      },
    },
    'body-of-no-content': {
      sentence: /documents a body of 204, which has none/,
      ...STORED,
      handlers: ['remove'],
      facts: { remove: { returns: [204, RemovedItem, 'The removed item.'] as never } },
      decorators: { remove: [HttpCode(204)] },
    },
  }),
  ...on(['list'], {
    'sort-ignored': {
      sentence: /has 0 items with sort=-id, and \d+ without it/,
      ...STORED,
      async list(query) {
        const request = pageRequestOf(this.facts.path, query);
        return cutPage(request, await this.rows(request.first, request.count));
      },
    },
  }),
  ...on(['list'], {
    'too-many-ids': {
      sentence: /accepts id = \["1","1","1","1"\], which its document forbids/,
      queryType: TooManyIds,
    },
    'list-of-ids-rejected': { sentence: /rejects id = \["1","2"\]/, queryType: SingleId },
  }),
};

function unknownOf({ facts }: Items): never {
  throw facts.unknown();
}
