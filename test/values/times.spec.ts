import { Controller, Get, Module, Query } from '@nestjs/common';
import { ApiSchema } from '@nestjs/swagger';
import * as fc from 'fast-check';
import { defineScopes, Operation, Timestamp } from '../../src';
import { FIRST_TIME, Instant } from '../../src/platform/validation/fields';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';

const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');
const MINUTE_MS = 60_000;
const MAX_OFFSET = 23 * 60 + 59;

/** The parts of a time as text. */
type Parts = Readonly<
  Record<'date' | 'separator' | 'hour' | 'minute' | 'second' | 'fraction' | 'offset', string>
>;

const textOf = ({ date, separator, hour, minute, second, fraction, offset }: Parts) =>
  `${date}${separator}${hour}:${minute}:${second}${fraction}${offset}`;
const two = (value: number) => String(value).padStart(2, '0');

/** A time with any offset and any number of digits, with its text in UTC to the millisecond. */
const TIME = fc
  .record({
    // In each offset the year has four digits.
    time: fc.integer({ min: FIRST_TIME + 86_400_000, max: LAST_TIME - 86_400_000 }),
    minutes: fc.oneof(fc.constant('Z'), fc.constant('z'), fc.integer({ min: -MAX_OFFSET, max: MAX_OFFSET })),
    digits: fc.integer({ min: 0, max: 12 }),
    beyond: fc.constantFrom('000000000', '999999999'),
    separator: fc.constantFrom('T', 't', ' '),
  })
  .map(({ time, minutes, digits, beyond, separator }) => {
    const offset = typeof minutes === 'string' ? 0 : minutes;
    const local = new Date(time + offset * MINUTE_MS).toISOString();
    const fraction = `${local.slice(20, 23)}${beyond}`.slice(0, digits);
    const [, hour = '', minute = '', second = ''] = /T(..):(..):(..)/.exec(local)!;
    const sign = offset < 0 ? '-' : '+';
    const zone = `${sign}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
    const parts: Parts = {
      date: local.slice(0, 10),
      separator,
      hour,
      minute,
      second,
      fraction: fraction && `.${fraction}`,
      offset: typeof minutes === 'string' ? minutes : zone,
    };
    const ms = Number(fraction.slice(0, 3).padEnd(3, '0'));
    return { parts, printed: new Date(time - (((time % 1_000) + 1_000) % 1_000) + ms).toISOString() };
  });

/** Parts that no time has. */
const WRONG = (
  [
    [
      'date',
      ['2026-13-01', '2026-00-01', '2026-11-00', '2026-04-31', '2027-02-29', '0000-01-01', '26-11-21'],
    ],
    ['separator', ['', '_', 'TT']],
    ['hour', ['24', '5', '-1']],
    ['minute', ['60', '5', '']],
    ['second', ['61', '5', '']],
    ['fraction', ['.', ',5', `.${'0'.repeat(39)}`]],
    ['offset', ['', '+24:00', '+02:60', '+0200', '+02', 'UTC', 'ZZ']],
  ] as const
).flatMap(([part, values]) => values.map((value): Partial<Parts> => ({ [part]: value })));

class TimeQuery {
  @Instant({ description: 'A time.', example: '2026-11-21T12:00:00Z' })
  readonly at!: string;
}

@ApiSchema({ description: 'A time.' })
class Time {
  @Timestamp({ description: 'The time of the query.', example: '2026-11-21T12:00:00.000Z' })
  readonly at!: string;
}

const timeScopes = defineScopes('times', 'read');

@Controller({ path: 'times', version: '1' })
class TimesController {
  @Get()
  @Operation({
    id: 'getTime',
    summary: 'Get a time',
    description: 'Returns the time of the query.',
    scope: timeScopes.read,
    returns: [200, Time, 'The time.'],
  })
  get(@Query() { at }: TimeQuery): Time {
    return { at };
  }
}

@Module({ controllers: [TimesController] })
class TimesModule {}

describe('a time of a request', () => {
  let app: TestApp;
  let key: string;
  let id: string;
  beforeAll(async () => {
    const times = { name: 'times', scopes: Object.values(timeScopes), modules: [TimesModule] };
    app = await startApp({}, { extensions: [times] });
    key = await app.unlimitedKey();
    ({ id } = await app.createKey());
  });
  afterAll(() => app.close());

  const get = (text: string) => app.get(`/v1/times?at=${encodeURIComponent(text)}`, { key });
  const setExpiry = (expiresAt: string) => app.send('PATCH', `/v1/keys/${id}`, { key, body: { expiresAt } });

  it('may have every form of RFC 3339, with any offset and fraction, in a query and a body', async () => {
    const property = fc.asyncProperty(TIME, async ({ parts, printed }) => {
      const text = textOf(parts);
      expect([text, (await get(text)).json]).toEqual([text, { at: printed }]);
      // A key expires in the future only.
      const isLater = Date.parse(printed) > app.clock.now();
      const { json } = await setExpiry(text);
      expect([text, json.expiresAt ?? json.code]).toEqual([text, isLater ? printed : 'validation_failed']);
    });
    await fc.assert(property, { numRuns: 60 });
  });

  it.each([
    ['2026-11-25T17:00:00.9999999999999999999999+05:45', '2026-11-25T11:15:00.999Z'],
    // Date.parse of V8 reads it as 10 ms.
    ['2026-11-21T12:00:00.0010000000Z', '2026-11-21T12:00:00.001Z'],
    ['2026-11-20T23:50:00-12:30', '2026-11-21T12:20:00.000Z'],
    ['2026-11-25 17:00:00.123456789-00:00', '2026-11-25T17:00:00.123Z'],
    ['1990-12-31T23:59:60Z', '1991-01-01T00:00:00.000Z'],
    ['1990-12-31T15:59:60.25-08:00', '1991-01-01T00:00:00.250Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999+00:00', '9999-12-31T23:59:59.999Z'],
  ])('%s is %s', async (text, printed) => {
    expect((await get(text)).json).toEqual({ at: printed });
  });

  it('is 400 validation_failed in any other form', async () => {
    const property = fc.asyncProperty(TIME, fc.constantFrom(...WRONG), async ({ parts }, wrong) => {
      const text = textOf({ ...parts, ...wrong });
      for (const response of [await get(text), await setExpiry(text)])
        expect({ text, json: response.json }).toMatchObject({ text, json: { code: 'validation_failed' } });
    });
    await fc.assert(property, { numRuns: 60 });
  });

  it.each([
    '',
    'yesterday',
    '2026-11-21',
    '2026-11-21T12:00Z',
    '+02026-11-21T12:00:00.00',
    '2026-11-30T23:58:60Z',
    '9999-12-31T23:59:59-01:00',
    '0001-01-01T00:00:00+00:01',
    '2026-11-21T23:59:60Z',
  ])('400 validation_failed for "%s"', async (text) => {
    for (const response of [await get(text), await setExpiry(text)])
      expectError(response, 400, 'validation_failed');
  });

  it('400 says that + is %2B in a URL, and rejects a repeated parameter', async () => {
    const time = '2026-11-21T12:00:00+02:00';
    const { json } = await app.get(`/v1/times?at=${time}`, { key });
    expect(json.message).toContain('%2B');
    const twice = `at=${encodeURIComponent(time)}`;
    expectError(await app.get(`/v1/times?${twice}&${twice}`, { key }), 400, 'validation_failed');
  });
});
