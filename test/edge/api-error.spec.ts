import { platformErrors } from '../../src/platform/errors/platform.errors';

describe('ApiError', () => {
  it('never responds with the example of a code: without a message this does not compile', () => {
    // @ts-expect-error The message names the scope.
    expect(platformErrors.insufficient_scope().message).toBe('');
    // @ts-expect-error The message names the limit.
    expect(platformErrors.payload_too_large({ headers: {} }).message).toBe('');
  });
});
