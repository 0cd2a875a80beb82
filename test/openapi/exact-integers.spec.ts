import { JSON_SCHEMA, load } from 'js-yaml';
import { Int64, SortedPageQuery } from '../../src';
import { Int64List } from '../../src/platform/validation/fields';
import { startApp, type TestApp } from '../support/app';
import { itemsExtension } from '../testing/support/items.extension';

/** Each pair is one number in JavaScript. */
const PAIRS = [
  ['9007199254740993', '9007199254740992'],
  ['9223372036854775807', '9223372036854775806'],
  ['-9223372036854775808', '-9223372036854775807'],
] as const;
const ALL = PAIRS.flat();
const [[ODD, EVEN], [, BELOW_MAX], [, ABOVE_MIN]] = PAIRS;

class HeavyQuery extends SortedPageQuery {
  @Int64List({ optional: true, max: 9, description: 'Weights.', example: [BELOW_MAX, EVEN].map(BigInt) })
  readonly weights?: bigint[];
}

const without = { key: undefined };
const weight = (example: string) => [Int64({ description: 'Weight in grams.', example: BigInt(example) })];
const integersOf = (text: string) =>
  new Set(text.match(/-?\b\d{16,}\b/g)?.filter((digits) => !Number.isSafeInteger(Number(digits))));

describe('integers of the document that a number cannot hold', () => {
  let app: TestApp;
  beforeAll(async () => {
    const heavy = itemsExtension('heavy', {
      body: { weight: weight(ODD) },
      item: { weight: weight(ABOVE_MIN) },
      queryType: HeavyQuery,
    });
    app = await startApp({}, { extensions: [heavy] });
  });
  afterAll(() => app.close());

  it('are exact in /openapi.json and /openapi.yaml', async () => {
    const json = (await app.get('/openapi.json', without)).text;
    const yaml = (await app.get('/openapi.yaml', without)).text;
    expect([...integersOf(json)].sort()).toEqual([...ALL].sort());
    expect(integersOf(yaml)).toEqual(integersOf(json));
    expect(load(yaml, { schema: JSON_SCHEMA })).toEqual(JSON.parse(json));
  });
});
