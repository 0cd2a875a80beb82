import { Body, Controller, Get, Module, Param, Post, Query } from '@nestjs/common';
import { ApiExcludeController, ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Expose, Transform, Type } from 'class-transformer';
import { IsInt, IsString, Max, MaxLength } from 'class-validator';
import { AtLeastOne, Int64, Integer, ListOf, Nested, RequireScope, Text } from '../../src';
import { startApp, type TestApp } from '../support/app';
import { aNewPet } from '../support/factories';
import { expectProblem, PROBLEM } from './support/problem';

@ApiSchema({ description: 'A tag.' })
class PlaceTag {
  @Text({ max: 5, description: 'Name.', example: 'soft' })
  readonly name!: string;
}

@ApiSchema({ description: 'A toy.' })
class PlaceToy {
  @Text({ max: 5, description: 'Name.', example: 'ball' })
  readonly name!: string;

  @ListOf(() => PlaceTag, { max: 200, description: 'Tags.' })
  readonly tags!: PlaceTag[];

  @Nested(() => PlaceTag, { optional: true, description: 'Best.' })
  readonly best?: PlaceTag;
}

/** With names that a JSON Pointer must escape, and decorators of Nest's documentation. */
class PlaceNames {
  @ApiProperty()
  @Expose({ name: 'a/b' })
  @IsInt()
  readonly slash!: number;

  @ApiProperty()
  @Expose({ name: 'm~n é%' })
  @Max(5)
  readonly tilde!: number;

  @ApiProperty()
  @Transform(({ value }: { value: string }) => value.trim())
  @IsString()
  @MaxLength(3)
  readonly trimmed!: string;
}

@AtLeastOne()
class PlaceQuery {
  @Integer({ min: 1, max: 9, optional: true, description: 'Size.', example: 1 })
  readonly size?: number;

  @Int64({ optional: true, description: 'Owner.' })
  readonly owner?: bigint;
}

class PlacePath {
  @ApiProperty()
  @Type(() => Number)
  @IsInt()
  readonly toy!: number;
}

@ApiExcludeController()
@Controller({ path: 'places', version: '1' })
class PlacesController {
  @Post('toys')
  @RequireScope('pets:write')
  toy(@Body() toy: PlaceToy) {
    return { name: toy.name };
  }

  @Post('owned')
  @RequireScope('pets:write')
  owned(@Body('owned/toy') toy: PlaceToy) {
    return { name: toy.name };
  }

  @Post('names')
  @RequireScope('pets:write')
  names(@Body() names: PlaceNames) {
    return { slash: names.slash };
  }

  @Get('toys')
  @RequireScope('pets:read')
  find(@Query() query: PlaceQuery) {
    return { size: query.size };
  }

  @Get('toys/:toy')
  @RequireScope('pets:read')
  get(@Param() { toy }: PlacePath) {
    return { toy };
  }
}

@Module({ controllers: [PlacesController] })
class PlacesModule {}

describe('errors of problem details', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({}, { modules: [PlacesModule] });
  });
  afterAll(() => app.close());

  const headers = { accept: PROBLEM };
  const post = (path: string, body: object | string) => app.post(path, body, { headers });

  it.each<[string, object, string[]]>([
    ['toys', {}, ['#/name', '#/tags']],
    ['toys', { name: 'x', tags: [{ name: 'a' }, { name: 7 }, {}] }, ['#/tags/1/name', '#/tags/2/name']],
    ['toys', { name: 'x', tags: [{ name: 'a' }, 7] }, ['#/tags', '#/tags/1']],
    ['toys', { name: 7, tags: [], best: { name: '' } }, ['#/name', '#/best/name']],
    ['toys', { name: 'x', tags: [], best: [] }, ['#/best']],
    ['toys', [], ['#']],
    ['owned', { 'owned/toy': { name: 'x', tags: [{}] } }, ['#/owned~1toy/tags/0/name']],
    ['owned', { 'owned/toy': 7 }, ['#/owned~1toy']],
    ['owned', {}, ['#/owned~1toy']],
    ['names', { 'a/b': 'x', 'm~n é%': 6, trimmed: 'long' }, ['#/a~1b', '#/m~0n%20%C3%A9%25', '#/trimmed']],
    ['names', { 'a/b': 1, 'm~n é%': 5, trimmed: 7 }, ['#/trimmed']],
  ])('POST /%s %j: one pointer for each field, as the client named it', async (path, body, pointers) => {
    const response = await post(`/v1/places/${path}`, body);
    expectProblem(response, 400, 'validation_failed');
    expect(response.json.errors.map(({ pointer }: any) => pointer)).toEqual(pointers);
  });

  it.each<[string, string[]]>([
    ['toys?size=10&owner=x', ['size', 'owner']],
    ['toys', ['size', 'owner']],
    ['toys/seven', ['toy']],
  ])('GET /%s: one parameter for each mistake', async (path, parameters) => {
    const response = await app.get(`/v1/places/${path}`, { headers });
    expectProblem(response, 400, 'validation_failed');
    expect(response.json.errors.map(({ parameter }: any) => parameter)).toEqual(parameters);
  });

  it('name the header Idempotency-Key', async () => {
    const options = { headers: { ...headers, 'idempotency-key': 'a b' } };
    const { json } = await app.post('/v1/pets', aNewPet(), options);
    expect(json.errors).toEqual([{ header: 'Idempotency-Key', detail: json.detail }]);
  });

  it('have the sentences of the message, which names every field', async () => {
    const body = { name: 7, tags: 7 };
    const problem = (await post('/v1/places/toys', body)).json;
    const { json } = await app.post('/v1/places/toys', body);
    expect(problem.detail).toBe(json.message);
    const details = problem.errors.map(({ detail }: any) => detail.slice(0, -1));
    expect(`${details.join('; ')}.`).toBe(json.message);
  });

  it('are at most 100', async () => {
    const response = await post('/v1/places/toys', {
      name: 'x',
      tags: Array.from({ length: 101 }, () => ({})),
    });
    expectProblem(response, 400, 'validation_failed');
    expect(response.json.errors).toHaveLength(100);
  });

  it.each<[string, string | Buffer, string, string]>([
    ['', '{', '#', 'at line 1, column 2 (character 1): it cannot be parsed'],
    [
      'on the third line',
      '{\n "a": 1,\r\n  x}',
      '#',
      'at line 3, column 3 (character 14): it cannot be parsed',
    ],
    ['after a lone CR', '{\r"a":}', '#', 'at line 2, column 5 (character 6): it cannot be parsed'],
    ['without a place', Buffer.from([0x22, 0xff, 0x22]), '#', ': it is not valid UTF-8'],
    ['', '{"a":1,"a":2}', '#/a', 'at line 1, column 9 (character 8): two members'],
    ['in a list', '{"b":[0,{"x":[",]"]},{"y\\"":{"a":1,"a":2}}]}', '#/b/2/y%22/a', 'two members'],
    ['after a list', '{"b":[[1],[2,3]],"c":{"~":"}","/":1,"/":2}}', '#/c/~1', 'two members'],
    ['in the root list', '[{"a":1},{"a":1,"a":2}]', '#/1/a', 'two members'],
    ['with a lone surrogate', String.raw`{"\ud800":1,"\ud800":2}`, '#/%EF%BF%BD', 'two members'],
    ['with a long name', `{"${'é'.repeat(999)}":1,"${'é'.repeat(999)}":2}`, '#', 'two members'],
  ])('malformed_json %s: %s names %s', async (_where, body, pointer, detail) => {
    const response = await app.post('/v1/pets', body, { headers });
    expectProblem(response, 400, 'malformed_json');
    expect(response.json.errors).toEqual([{ pointer, detail: expect.stringContaining(detail) }]);
    const message = (await app.post('/v1/pets', body)).json.message;
    expect(response.json.detail).toBe(message);
  });
});
