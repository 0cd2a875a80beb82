import { applyDecorators } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { Refuses } from '../http/answers.decorator';
import { routeFacts } from '../http/route-facts';

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
        'Any text of 1 to 255 visible ASCII characters, bare or quoted, new for each thing to be done. For 24 h a request with the same key and body gets the first answer again.',
      schema: { type: 'string', minLength: 1 },
    }),
    Refuses(409, 'The first request with this Idempotency-Key is still running.'),
    Refuses(422, 'The Idempotency-Key was used with another body.'),
  );
}
