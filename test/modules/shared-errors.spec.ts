import { expiredApiKey, invalidApiKey, missingApiKey, revokedApiKey } from '../../src/auth';
import { routeNotFound } from '../../src/platform/errors/http.errors';

describe('an error that requests share', () => {
  it.each([missingApiKey, invalidApiKey, expiredApiKey, revokedApiKey, routeNotFound])(
    'cannot be changed by a module: %p',
    (create) => {
      const error = create();
      expect(create()).toBe(error);
      expect(() => Object.assign(error, { message: 'changed' })).toThrow(TypeError);
      expect(() => Object.assign(error.headers, { 'X-Client': 'one' })).toThrow(TypeError);
    },
  );
});
