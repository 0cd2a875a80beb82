import { applyDecorators } from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';
import { routeFacts } from '../routes/route-facts';

/** The member of an operation that counts in no window of the account. */
export const UNCOUNTED = 'x-uncounted';

/**
 * Counts the requests of a valid key in no window, and rejects none of them for a limit or a ban. A request without a
 * valid key counts for its address, as everywhere.
 *
 * Nothing limits such a route, so it must be as cheap as a 429. It is not a part of the public API.
 */
export function Uncounted(): MethodDecorator {
  return applyDecorators(routeFacts({ uncounted: true }), ApiExtension(UNCOUNTED, true));
}
