import { ApiError } from '../../src/platform/errors/api-error';
import { errorCodes } from '../../src/platform/errors/error-codes';

describe('ApiError', () => {
  it('has the status and the fixed message of its code', () => {
    expect(new ApiError('invalid_cursor')).toMatchObject({
      code: 'invalid_cursor',
      status: 400,
      message: errorCodes.find(({ code }) => code === 'invalid_cursor')?.example,
    });
  });

  it('replaces the fixed message by a more precise one', () => {
    const message = 'The path is not percent-encoded UTF-8.';
    expect(new ApiError('malformed_request', { message }).message).toBe(message);
  });

  it('never responds with the example of a code: without a message this does not compile', () => {
    // @ts-expect-error The message names the scope.
    expect(new ApiError('insufficient_scope').message).toBe('');
    // @ts-expect-error The message names the limit.
    expect(new ApiError('payload_too_large', { headers: {} }).message).toBe('');
  });
});
