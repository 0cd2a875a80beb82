import { isClientError } from '../../platform/errors/api-error';

/** The advice to a client about an error, by status. The message of the error is more precise. */
const REMEDIES: Readonly<Record<number, string>> = {
  401: 'Send a valid key in the header Authorization. The operator of the service creates and replaces keys.',
  403: 'Use a key with the permission that the message names. The operator of the service sets the scopes of a key.',
  404: 'Check the address and the ids in it.',
  405: 'Use one of the methods that Allow lists.',
  408: 'Send the whole request again, without a pause.',
  409: 'Read the resource again and decide anew. If the response has Retry-After, send the same request again after that time.',
  412: 'Read the resource again, decide anew, and send its new ETag.',
  413: 'Send a smaller body.',
  414: 'Send a shorter URL.',
  415: 'Send the body in the form that the message names.',
  429: 'Wait for the seconds in Retry-After before the next request, and back off exponentially.',
  431: 'Send fewer or shorter headers.',
  500: 'Report the X-Request-Id of the response to the operator of the service. Repeat a POST only with an Idempotency-Key.',
  503: 'Send the request again after the seconds in Retry-After. Repeat a POST only with an Idempotency-Key.',
};

/** Returns the advice about an error with this status. */
export function remedyOf(status: number): string {
  const other = isClientError(status)
    ? 'Fix the request as the message says. The same request would be rejected again.'
    : 'Send the request again later.';
  return REMEDIES[status] ?? other;
}
