import { Controller, Get, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '../../api/routes/request-context';
import { CurrentPrincipal } from '../current-principal';
import { Operation } from '../../api/operation/operation.decorator';
import { ANY_KEY } from '../../api/routes/route-facts';
import type { Window } from '../../rate-limit';
import { ApiKey } from './own-key.dto';

@Controller('key')
export class OwnKeyController {
  @Get()
  @Operation({
    id: 'getKey',
    summary: 'Show the current API key',
    description:
      'Returns what the key may do, how much of its limits is left, and its strikes. The request counts in no window. It also succeeds while the limits are used up, and while the key is banned.',
    scope: ANY_KEY,
    hasEntityTag: false,
    uncounted: true,
    returns: [200, ApiKey, 'The key.'],
  })
  getKey(@CurrentPrincipal() principal: Principal, @Req() { standing }: FastifyRequest): ApiKey {
    if (!standing?.windows.day) throw new Error('ThrottleGuard sets both windows on an uncounted route');
    const { strikes, banAfter, bannedUntil } = standing;
    const { minute, day } = standing.windows;
    const banEnd = bannedUntil === undefined ? null : new Date(bannedUntil);
    return {
      id: principal.keyId,
      label: principal.label ?? null,
      account: principal.accountName,
      plan: principal.plan,
      scopes: principal.scopes,
      createdAt: principal.createdAt ?? null,
      expiresAt: principal.expiresAt ?? null,
      limits: { minute: shown(minute), day: shown(day) },
      strikes: { count: strikes, banAfter, bannedUntil: banEnd },
    };
  }
}

const shown = ({ resetAt, ...counts }: Window) => ({ ...counts, resetAt: new Date(resetAt) });
