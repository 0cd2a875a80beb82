import { ApiExtension } from '@nestjs/swagger';
import { ANY_KEY, Public, RequireScope } from '../../../src';
import { type Mistake, on } from './mistake';

export const ACCESS_MISTAKES: readonly Mistake[] = on(
  ['list'],
  [
    [
      'public-by-mistake',
      /responds 200 to a request without a key, and must respond 401/,
      { decorators: { list: [Public()] } },
    ],
    [
      'scope-of-another',
      /requires the scope pets:read, and its description names another/,
      { decorators: { list: [RequireScope('pets:read')] } },
    ],
    [
      'scope-of-any-key',
      /responds 403 to a key with the scope pets:write, and its x-required-scopes is empty/,
      { facts: { list: { scope: ANY_KEY } }, decorators: { list: [RequireScope('pets:read')] } },
    ],
    [
      'counted-against-its-document',
      /counts in a window, and its document has x-uncounted/,
      { decorators: { list: [ApiExtension('x-uncounted', true)] } },
    ],
    [
      'scope-not-listed',
      /requires the scope pets:read, and its x-required-scopes names another/,
      { decorators: { list: [RequireScope('pets:read')] } },
    ],
  ],
);
