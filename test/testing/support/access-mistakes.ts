import { ApiExtension } from '@nestjs/swagger';
import { Public, RequireScope } from '../../../src';
import { type Mistakes, on } from './mistake';

export const ACCESS_MISTAKES: Mistakes = on(['list'], {
  'public-by-mistake': {
    sentence: /responds 200 to a request without a key, and must respond 401/,
    decorators: { list: [Public()] },
  },
  'scope-of-another': {
    sentence: /requires the scope pets:read, and its description names another/,
    decorators: { list: [RequireScope('pets:read')] },
  },
  'scope-of-any-key': {
    sentence: /responds 403 to a key with the scope pets:write, and its x-required-scopes is empty/,
    facts: { list: { scope: 'any key' } },
    decorators: { list: [RequireScope('pets:read')] },
  },
  'counted-against-its-document': {
    sentence: /counts in a window, and its document has x-uncounted/,
    decorators: { list: [ApiExtension('x-uncounted', true)] },
  },
});
