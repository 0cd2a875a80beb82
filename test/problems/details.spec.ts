import { Body, Controller, Get, Module, Param, Post, Query } from '@nestjs/common';
import { ApiExcludeController, ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import { IsInt, IsString, Max, MaxLength } from 'class-validator';
import { AtLeastOne, Int64, Integer, ListOf, Nested, RequireScope, Text } from '../../src';
import { type RawResponse, RawConnection } from '../edge/support/raw';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { rejectedByParser } from '../support/rejections';
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
  @IsInt()
  readonly 'a/b'!: number;

  @ApiProperty()
  @Max(5)
  readonly 'm~n é%'!: number;

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
    return { slash: names['a/b'] };
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

describe('problem details of a request that is rejected', () => {
  let app: TestApp;
  beforeAll(async () => {
    const timeouts = { requestTimeoutMs: 300, headersTimeoutMs: 200 };
    const settings = { ...timeouts, corsOrigins: ['https://shop.example'] };
    app = await startApp(settings, { modules: [PlacesModule] });
  });
  afterAll(() => app.close());

  describe('errors of problem details', () => {
    const headers = { accept: PROBLEM };
    const post = (path: string, body: object | string) => app.post(path, body, { headers });

    it.each<[string, object, string[]]>([
      ['toys', {}, ['#/name', '#/tags']],
      ['toys', { name: 'x', tags: [{ name: 'a' }, { name: 7 }, {}] }, ['#/tags/1/name', '#/tags/2/name']],
      ['toys', { name: 'x', tags: [{ name: 'a' }, 7] }, ['#/tags', '#/tags/1']],
      ['toys', { name: 7, tags: [], best: { name: '' } }, ['#/name', '#/best/name']],
      ['toys', [], ['#']],
      ['owned', { 'owned/toy': { name: 'x', tags: [{}] } }, ['#/owned~1toy/tags/0/name']],
      ['owned', {}, ['#/owned~1toy']],
      ['names', { 'a/b': 'x', 'm~n é%': 6, trimmed: 'long' }, ['#/a~1b', '#/m~0n%20%C3%A9%25', '#/trimmed']],
      ['names', { 'a/b': 1, 'm~n é%': 5, trimmed: 7 }, ['#']],
    ])('POST /%s %j: one pointer for each field', async (path, body, pointers) => {
      const response = await post(`/v1/places/${path}`, body);
      expectProblem(response, 400, 'validation_failed');
      expect(response.json.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(pointers);
    });

    it.each<[string, string[]]>([
      ['toys?size=10&owner=x', ['size', 'owner']],
      ['toys', ['size', 'owner']],
      ['toys/seven', ['toy']],
    ])('GET /%s: one parameter for each mistake', async (path, parameters) => {
      const response = await app.get(`/v1/places/${path}`, { headers });
      expectProblem(response, 400, 'validation_failed');
      expect(response.json.errors.map(({ parameter }: { parameter: string }) => parameter)).toEqual(
        parameters,
      );
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
      const details = problem.errors.map(({ detail }: { detail: string }) => detail.slice(0, -1));
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

    it.each<[string, string | Buffer]>([
      ['it cannot be parsed (at character 14)', '{\n "a": 1,\r\n  x}'],
      ['it is not valid UTF-8', Buffer.from([0x22, 0xff, 0x22])],
      ['two members of one object have the same name and different values (at character 8)', '{"a":1,"a":2}'],
    ])('malformed_json: %s, for the whole body', async (reason, body) => {
      const response = await app.post('/v1/pets', body, { headers });
      expectProblem(response, 400, 'malformed_json');
      const { errors, detail } = response.json;
      expect(errors).toEqual([{ pointer: '#', detail: `The body is not acceptable JSON: ${reason}.` }]);
      expect(detail).toBe(errors[0].detail);
      expect((await app.post('/v1/pets', body)).json.message).toBe(detail);
    });
  });

  describe('Accept of a request that is rejected', () => {
    const reject = (accept: string | string[] | undefined) =>
      app.get('/v1/pets?limit=0', accept === undefined ? {} : { headers: { accept } });

    it.each<[string | string[]]>([
      ['Application/Problem+JSON; charset=utf-8'],
      ['application/problem+json, application/json'],
      ['application/json;q=0.9, application/problem+json'],
      ['*/*;q=0.8, application/json;q=0.1, application/problem+json;q=0.2'],
      [['text/html', 'application/problem+json']],
    ])('%j gets problem details', async (accept) => {
      expectProblem(await reject(accept), 400, 'validation_failed');
    });

    it.each<[string | undefined]>([
      [undefined],
      [''],
      ['application/*'],
      ['text/html'],
      ['application/json, application/problem+json'],
      ['*/*, application/problem+json;q=0.5'],
      ['application/problem+json;q=0'],
      ['application/problem+json;q=x'],
      ['application/problem+json;profile="x"'],
      ['"application/problem+json'],
      [`${'text/html, '.repeat(100)}application/problem+json`],
    ])('%j gets the Error body', async (accept) => {
      expectError(await reject(accept), 400, 'validation_failed');
    });

    it('is named in Vary of every error, after Origin with CORS', async () => {
      for (const path of ['/v1/pets?limit=0', '/nothing']) {
        for (const accept of ['*/*', PROBLEM]) {
          const { headers } = await app.get(path, { headers: { accept } });
          expect(headers['vary']).toBe('Origin, Accept');
        }
      }
    });

    const firstOf = async (bytes: string): Promise<RawResponse> => {
      const raw = await RawConnection.open(app.url);
      raw.write(bytes);
      const response = (await raw.response())!;
      raw.destroy();
      return response;
    };
    const HOST = `Host: x\r\nAccept: ${PROBLEM}\r\n`;
    const post = (auth: string, headers: string, body: string) =>
      `POST /v1/pets HTTP/1.1\r\n${HOST}Authorization: Bearer ${auth}\r\nContent-Type: application/json\r\n${headers}\r\n${body}`;

    it.each<[string, number, string, (key: string) => string]>([
      ['CONNECT', 405, 'method_not_allowed', () => `CONNECT x:1 HTTP/1.1\r\n${HOST}\r\n`],
      ['no Host', 400, 'malformed_request', () => `GET /v1/pets HTTP/1.1\r\nAccept: ${PROBLEM}\r\n\r\n`],
      ['an unknown Expect', 417, 'expectation_failed', () => `GET / HTTP/1.1\r\n${HOST}Expect: x\r\n\r\n`],
      ['300 headers', 431, 'headers_too_large', () => `GET / HTTP/1.1\r\n${HOST}${'a:\r\n'.repeat(300)}\r\n`],
      ['a late body', 408, 'request_timeout', (key) => post(key, 'Content-Length: 10\r\n', '{')],
      [
        'a large body that waits for 100',
        413,
        'payload_too_large',
        (key) => post(key, 'Expect: 100-continue\r\nContent-Length: 500000\r\n', ''),
      ],
    ])('is obeyed below the router: %s gets problem details', async (_what, status, code, bytes) => {
      const response = await firstOf(bytes(app.key));
      expectProblem(response, status, code);
      expect(response.headers['vary']).toMatch(/Accept$/);
    });

    it.each(rejectedByParser)(
      'is unknown on %i %s of the HTTP parser: the Error body',
      async (status, code, bytes) => {
        const response = await firstOf(bytes);
        expect([response.status, JSON.parse(response.text).code]).toEqual([status, code]);
        expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
      },
    );

    it('the type is absolute if PUBLIC_BASE_URL is', async () => {
      const absolute = await startApp({ publicBaseUrl: 'https://api.example.com/store/v1' }, { beside: app });
      const { json } = await absolute.get('/v1/nothing', { headers: { accept: PROBLEM } });
      expect(json.type).toBe('https://api.example.com/store/problems/route_not_found');
      await absolute.close();
    });
  });
});
