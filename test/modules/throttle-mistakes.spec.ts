import type { Type } from '@nestjs/common';
import { minutes, SkipThrottle, Throttle } from '@nestjs/throttler';
import { userMessage } from '../../src/app/user-message';
import { UserError } from '../../src/platform/errors/user-error';
import { startApp, type TestApp } from '../support/app';
import { labWith, SAME_NAMES, WithThrottlerModule } from './support/throttle-mistakes';

const ttl = minutes(1);
const none = () => undefined;
/** Numbers that the types of @Throttle allow or that a setting may bring. */
const limitOf = (limit: unknown) => labWith(Throttle({ default: { limit: limit as number, ttl } }));
const ttlOf = (value: unknown) => labWith(Throttle({ default: { limit: 5, ttl: value as number } }));
const named = (name: string) => labWith(Throttle({ [name]: { limit: 5, ttl } }));
const optionSentence = (option: string) =>
  `@Throttle of LabController.get has the option ${option}, which has no effect: remove it.`;
const numberSentence = (option: string, value: string) =>
  `The ${option} of "default" in @Throttle of LabController.get is ${value}: use an integer from 1 to ${option === 'ttl' ? 31_622_400_000 : 1_000_000_000}.`;
const nameSentence = (name: string) =>
  `The name "${name}" in @Throttle of LabController.get is invalid: use 1 to 20 lower-case letters, and not minute or day.`;
const SKIP_SENTENCE = 'LabController.get has @SkipThrottle, but no route can skip the limits: remove it.';

describe('the start fails with one sentence for a mistake with @Throttle', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const start = (...modules: Type[]) => startApp({}, { beside: app, modules });

  it.each<[string, Type[], string]>([
    ['@SkipThrottle on a method', [labWith(SkipThrottle())], SKIP_SENTENCE],
    ['@SkipThrottle on a controller', [labWith(none, SkipThrottle())], SKIP_SENTENCE],
    ['@SkipThrottle for a name', [labWith(SkipThrottle({ long: true }))], SKIP_SENTENCE],
    ['@SkipThrottle that skips nothing', [labWith(SkipThrottle({ long: false }))], SKIP_SENTENCE],
    [
      'blockDuration',
      [labWith(Throttle({ default: { limit: 5, ttl, blockDuration: ttl } }))],
      optionSentence('blockDuration'),
    ],
    [
      'getTracker',
      [labWith(Throttle({ default: { limit: 5, ttl, getTracker: () => 'all' } }))],
      optionSentence('getTracker'),
    ],
    [
      'generateKey of a controller',
      [labWith(none, Throttle({ default: { limit: 5, ttl, generateKey: () => 'all' } }))],
      optionSentence('generateKey'),
    ],
    ['a limit of 0', [limitOf(0)], numberSentence('limit', '0')],
    ['a limit that is a fraction', [limitOf(1.5)], numberSentence('limit', '1.5')],
    ['a limit that is a text', [limitOf('5')], numberSentence('limit', '5')],
    ['a limit over the maximum', [limitOf(1e9 + 1)], numberSentence('limit', '1000000001')],
    ['a negative ttl', [ttlOf(-1)], numberSentence('ttl', '-1')],
    ['no ttl', [ttlOf(undefined)], numberSentence('ttl', 'undefined')],
    ['an endless ttl', [ttlOf(Infinity)], numberSentence('ttl', 'Infinity')],
    ['the name of a window of the plan', [named('day')], nameSentence('day')],
    ['a name that the headers cannot show', [named('perUser')], nameSentence('perUser')],
    [
      'more limits than the headers can show',
      [
        labWith(
          Throttle(Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [name, { limit: 5, ttl }]))),
        ),
      ],
      '@Throttle adds 5 limits to LabController.get: use at most 4.',
    ],
    [
      'two controllers with one name',
      SAME_NAMES,
      'Two controllers with @Throttle have the name LabController: rename one of them.',
    ],
    [
      'ThrottlerModule',
      [WithThrottlerModule],
      'A module imports ThrottlerModule: remove the import, because @Throttle works without it.',
    ],
  ])('%s', async (_what, modules, sentence) => {
    const error: unknown = await start(...modules).then(
      () => 'the service started',
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(UserError);
    expect(userMessage(error)).toBe(sentence);
  });

  it('accepts the longest headers that the document allows', async () => {
    const names = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(20));
    const options = names.map((name) => [name, { limit: 1e9, ttl: 366 * 86_400_000 }]);
    const sound = await start(labWith(Throttle(Object.fromEntries(options))));
    const choice = { plan: 'enterprise', perMinute: 1e9, perDay: 1e9 } as const;
    const { key } = await sound.createKey({ choice });
    const { headers } = await sound.get('/v1/lab', { key });
    const { json: document } = await sound.get('/openapi.json', { key });
    for (const name of ['RateLimit-Policy', 'RateLimit']) {
      const { pattern, maxLength } = document.components.headers[name].schema;
      expect(headers[name.toLowerCase()]).toMatch(new RegExp(pattern));
      expect(String(headers[name.toLowerCase()]).length).toBeLessThanOrEqual(maxLength);
    }
    await sound.close();
  });
});
