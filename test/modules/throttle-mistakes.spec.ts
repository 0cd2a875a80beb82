import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { minutes, SkipThrottle, Throttle } from '@nestjs/throttler';
import { checkModules } from '../../src/app/start-checks/check-modules';
import { handlersOf } from '../../src/app/start-checks/handlers';
import { UserError } from '../../src/platform/errors/user-error';
import { RouteLimits } from '../../src/rate-limit';
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

/** Reads the limits of a module as the start does; start-checks.spec starts a service with a mistake. */
async function readLimits(...modules: Type[]): Promise<RouteLimits> {
  const limits = new RouteLimits();
  for (const module of modules) {
    const context = await NestFactory.createApplicationContext(module, { logger: false });
    limits.read(handlersOf(context as NestFastifyApplication));
  }
  return limits;
}

describe('the start fails with one sentence for a mistake with @Throttle', () => {
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
  ])('%s', async (_what, modules, sentence) => {
    await expect(readLimits(...modules)).rejects.toThrow(new UserError(sentence));
  });

  it('ThrottlerModule', async () => {
    const context = await NestFactory.createApplicationContext(WithThrottlerModule, { logger: false });
    expect(() => checkModules(context as NestFastifyApplication, [])).toThrow(
      new UserError(
        'A module imports ThrottlerModule: remove the import, because @Throttle works without it.',
      ),
    );
  });
});
