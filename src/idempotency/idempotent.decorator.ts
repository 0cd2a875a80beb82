import { applyDecorators } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { Refuses, Sends } from '../http/answers.decorator';
import { routeFacts } from '../http/route-facts';

/** The bare form, or the quoted one, in which quotes and backslashes stand behind a backslash. */
const KEY_PATTERN = String.raw`^([!#-~][!-~]{0,254}|"([!#-\[\]-~]|\\["\\]){1,255}")$`;
const LONGEST_HEADER = 512;

/**
 * Lets clients retry an operation safely: with an Idempotency-Key its work is done once and answered alike each time.
 * The handler does its work through `IdempotentWork` and hands the transaction on to its service, so that work and
 * answer are kept together or not at all.
 */
export function Idempotent(): MethodDecorator {
  return applyDecorators(
    routeFacts({ idempotent: true }),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description:
        'Any text of 1 to 255 visible ASCII characters, bare or quoted, new for each thing to be done, such as a UUID. For 24 h a request with the same key and body gets the first answer again.',
      // No example: Swagger UI would send it, with every body the same.
      schema: { type: 'string', minLength: 1, maxLength: LONGEST_HEADER, pattern: KEY_PATTERN },
    }),
    Sends('Idempotent-Replayed'),
    Refuses('idempotency_key_in_use', 'idempotency_key_reused'),
  );
}
