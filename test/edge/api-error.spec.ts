import { platformErrors } from '../../src/platform/errors/platform.errors';

describe('ApiError', () => {
  it('has the status and the fixed message of its code', () => {
    expect(platformErrors.invalid_cursor()).toMatchObject({
      code: 'invalid_cursor',
      status: 400,
      message: platformErrors.invalid_cursor.example,
    });
  });

  it('replaces the fixed message by a more precise one', () => {
    const message = 'The path is not percent-encoded UTF-8.';
    expect(platformErrors.malformed_request({ message }).message).toBe(message);
  });

  it('never responds with the example of a code: without a message this does not compile', () => {
    // @ts-expect-error The message names the scope.
    expect(platformErrors.insufficient_scope().message).toBe('');
    // @ts-expect-error The message names the limit.
    expect(platformErrors.payload_too_large({ headers: {} }).message).toBe('');
  });
});
