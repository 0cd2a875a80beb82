import {
  applyDecorators,
  Body,
  Controller,
  type ExecutionContext,
  Header,
  HttpCode,
  Module,
  Post,
  UseGuards,
} from '@nestjs/common';
import { ApiSchema } from '@nestjs/swagger';
import { minutes, Throttle } from '@nestjs/throttler';
import type { FastifyRequest } from 'fastify';
import type { EntityManager } from 'typeorm';
import { defineErrors, Int64, Operation, PathId, petErrors, Text, Transaction } from '../../src';
import type { OperationFacts } from '../../src/platform/api-docs/operation.decorator';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';

const errors = defineErrors({
  shelf_not_found: { status: 404, when: 'no shelf has this id', message: 'There is no shelf with this id.' },
});

@ApiSchema({ description: 'A toy to add.' })
class NewToy {
  @Text({ max: 9, description: 'Name of the toy.', example: 'ball' })
  readonly name!: string;
}

@ApiSchema({ description: 'A toy.' })
class Toy extends NewToy {
  @Int64({ description: 'Identifier of the toy.', example: 1 })
  readonly id!: bigint;
}

class ClosedGuard {
  canActivate(context: ExecutionContext) {
    return !('x-closed' in context.switchToHttp().getRequest<FastifyRequest>().headers);
  }
}

const described = (id: string, returns: OperationFacts['returns'] = [201, Toy, 'The toy.']) =>
  Operation({
    id,
    summary: 'Add a toy',
    description: 'Adds a toy.',
    scope: 'pets:write',
    idempotent: true,
    returns,
  });
const limited = () =>
  applyDecorators(
    UseGuards(ClosedGuard),
    Throttle({ default: { limit: 3, ttl: minutes(1) } }),
    HttpCode(200),
    Header('X-Toy', 'yes'),
  );

let made = 0n;

@Controller({ version: '1' })
class ToysController {
  @Post('shelves/:shelfId/pets/:petId/toys')
  @described('addToy')
  add(
    @PathId('shelfId', 'Identifier of the shelf.', errors.shelf_not_found) shelfId: bigint,
    @Body() { name }: NewToy,
    @PathId('petId', 'Identifier of the animal.', petErrors.pet_not_found) petId: bigint,
    @Transaction() _transaction: EntityManager | undefined,
  ) {
    return { id: (made += 1n), name: `${name} ${shelfId} ${petId}` };
  }

  @Post('toys/above')
  @limited()
  @described('addToyAbove', [200, Toy, 'The toy.'])
  addAbove(@Body() { name }: NewToy, @Transaction() _transaction: EntityManager | undefined) {
    return { id: (made += 1n), name };
  }

  @Post('toys/below')
  @described('addToyBelow', [200, Toy, 'The toy.'])
  @limited()
  addBelow(@Body() { name }: NewToy, @Transaction() _transaction: EntityManager | undefined) {
    return { id: (made += 1n), name };
  }
}

@Module({ controllers: [ToysController] })
class ToysModule {}

describe('a handler of a module', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({}, { modules: [ToysModule] });
  });
  afterAll(() => app.close());

  const PATH = '/v1/shelves/9007199254740993/pets/%32/toys';
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    app.post(path, body, { headers, isDocumented: false });

  it('documents each @PathId in the order of the path, with its error', async () => {
    const { post: operation } = (await app.get('/openapi.json')).json.paths[
      '/shelves/{shelfId}/pets/{petId}/toys'
    ];
    const inPath = operation.parameters.filter((each: { in: string }) => each.in === 'path');
    expect(inPath).toMatchObject([
      {
        name: 'shelfId',
        description: 'Identifier of the shelf.',
        required: true,
        schema: { format: 'int64' },
      },
      {
        name: 'petId',
        description: 'Identifier of the animal.',
        required: true,
        schema: { format: 'int64' },
      },
    ]);
    expect(operation.responses['404'].description).toMatch(/`pet_not_found`.*\n.*`shelf_not_found`/);
  });

  it('gets each id of its path exactly, and an invalid one is the error of its parameter', async () => {
    expect((await post(PATH, { name: 'a' })).json.name).toBe('a 9007199254740993 2');
    expectError(await post('/v1/shelves/x/pets/2/toys', { name: 'a' }), 404, 'shelf_not_found');
    expectError(await post('/v1/shelves/1/pets/2.0/toys', { name: 'a' }), 404, 'pet_not_found');
  });

  it('that creates has a Location with the ids of its path, also with an Idempotency-Key', async () => {
    const before = made;
    for (const headers of [{}, { 'idempotency-key': 'nested' }, { 'idempotency-key': 'nested' }]) {
      const created = await post(PATH, { name: 'a' }, headers);
      expect(created.status).toBe(201);
      expect(created.headers['location']).toBe(`/v1/shelves/9007199254740993/pets/2/toys/${created.json.id}`);
    }
    expect(made - before).toBe(2n);
  });

  it('that is idempotent gets valid requests only: an invalid one is 400, also if its key is used', async () => {
    const headers = { 'idempotency-key': 'used' };
    const first = await post(PATH, { name: 'a' }, headers);
    expectError(await post(PATH, { name: 7 }, headers), 400, 'validation_failed');
    expectError(await post(PATH, { name: 'b' }, headers), 422, 'idempotency_key_reused');
    expect((await post(PATH, { name: 'a' }, headers)).text).toBe(first.text);
  });

  it.each(['above', 'below'])('that is idempotent has the decorators %s its @Operation', async (place) => {
    const path = `/v1/toys/${place}`;
    expectError(await post(path, { name: 'a' }, { 'x-closed': '1' }), 403, 'forbidden');
    const headers = { 'idempotency-key': place };
    const first = await post(path, { name: 'a' }, headers);
    expect(first).toMatchObject({ status: 200, headers: { 'x-toy': 'yes' } });
    expect((await post(path, { name: 'a' }, headers)).text).toBe(first.text);
    expectError(await post(path, { name: 'a' }), 429, 'rate_limit_exceeded');
  });
});
