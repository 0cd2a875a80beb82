import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { JSON_SCHEMA, load } from 'js-yaml';
import * as LosslessJSON from 'lossless-json';
import { Int64, Int64List, PageQuery } from '../../src';
import { startApp, type TestApp } from '../support/app';
import { itemsExtension } from '../testing/support/items.extension';

const { isSafeNumber, stringify } = LosslessJSON;
const PLUG_IN = readFileSync(
  join(__dirname, '..', '..', 'src', 'server', 'openapi', 'swagger-ui-exact-integers.js'),
  'utf8',
);

/** Each pair is one number in JavaScript. */
const PAIRS = [
  ['9007199254740993', '9007199254740992'],
  ['9223372036854775807', '9223372036854775806'],
  ['-9223372036854775808', '-9223372036854775807'],
] as const;
const ALL = PAIRS.flat();
const [[ODD, EVEN], [MAX, BELOW_MAX], [MIN, ABOVE_MIN]] = PAIRS;

class HeavyQuery extends PageQuery {
  @Int64List({ optional: true, max: 9, description: 'Weights.', example: [BELOW_MAX, EVEN].map(BigInt) })
  readonly weights?: bigint[];
}

const without = { key: undefined };
const weight = (example: string) => [Int64({ description: 'Weight in grams.', example: BigInt(example) })];
const integersOf = (text: string) =>
  new Set(text.match(/-?\b\d{16,}\b/g)?.filter((digits) => !Number.isSafeInteger(Number(digits))));

describe('integers of the document that a number cannot hold', () => {
  let app: TestApp;
  let json: string;
  beforeAll(async () => {
    const heavy = itemsExtension('heavy', {
      body: { weight: weight(ODD) },
      item: { weight: weight(ABOVE_MIN) },
      queryType: HeavyQuery,
    });
    app = await startApp({}, { extensions: [heavy] });
    json = (await app.get('/openapi.json', without)).text;
  });
  afterAll(() => app.close());

  it('are exact in /openapi.json and /openapi.yaml', async () => {
    const yaml = (await app.get('/openapi.yaml', without)).text;
    expect([...integersOf(json)].sort()).toEqual([...ALL].sort());
    expect(integersOf(yaml)).toEqual(integersOf(json));
    expect(load(yaml, { schema: JSON_SCHEMA })).toEqual(JSON.parse(json));
  });

  describe('in Swagger UI', () => {
    let spec: unknown;
    let standIns: Record<string, string>;
    beforeAll(async () => {
      const { text } = await app.get('/docs/swagger-ui-init.js', without);
      runInNewContext(text, {
        window: {},
        exactIntegers: (digits: typeof standIns) => (standIns = digits),
        SwaggerUIBundle: (options: { spec: unknown }) => ({ spec } = options),
      });
    });

    it('have stand-ins that lead back to the same document', () => {
      const exact = (value: unknown) => standIns[String(value)];
      const restored = stringify(spec, undefined, 2, [
        { test: (value) => exact(value) !== undefined, stringify: (value) => exact(value)! },
      ]);
      expect(`${restored}\n`).toBe(json);
      expect(Object.values(standIns).sort()).toEqual([...ALL].sort());
    });

    it('have stand-ins of their own size, so that bounds still accept what they should', () => {
      for (const [standIn, digits] of Object.entries(standIns)) {
        expect(isSafeNumber(digits)).toBe(false);
        expect(Math.abs(Number(standIn))).toBeGreaterThanOrEqual(Math.abs(Number(digits)));
        expect(Number(standIn) / Number(digits)).toBeCloseTo(1, 12);
      }
      expect([MAX, MIN].every((bound) => Object.values(standIns).includes(bound))).toBe(true);
    });
  });

  describe('in the body of a response in Swagger UI', () => {
    const { exactIntegers }: any = runInNewContext(`${PLUG_IN};({ exactIntegers })`, { LosslessJSON });

    /** The text that the plug-in shows for a body; undefined if Swagger UI shows its own. */
    function shown(content: unknown, contentType: string): string | undefined {
      const React = {
        createContext: () => ({ Provider: 'provider' }),
        createElement: (_type: unknown, { value }: { readonly value?: string }) => value,
        useMemo: <T>(text: () => T): T => text(),
      };
      const { wrapComponents } = exactIntegers({})({ fn: {}, React });
      return wrapComponents.responseBody('original')({ content, contentType });
    }

    it.each([
      ['a fraction and an exponent', 'application/problem+json', '[1.50, 1E400]', '[\n  1.50,\n  1E400\n]'],
      ['text that is not JSON', 'application/json', 'Bad <gateway>', undefined],
      ['JSON with two members of one name', 'application/json', '{"id":1,"id":2}', undefined],
      ['text of another type', 'text/plain', `{"id":${ODD}}`, undefined],
      ['a file', 'application/json', {}, undefined],
    ])('%s', (_what, contentType, content, expected) => {
      expect(shown(content, contentType)).toBe(expected);
    });

    it.each(ALL)('%s', (integer) => {
      const text = `{\n  "id": ${integer}\n}`;
      expect(shown(text.replaceAll(/\s/g, ''), 'application/json; charset=utf-8')).toBe(text);
    });
  });
});
