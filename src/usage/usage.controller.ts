import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal, type Principal, RequireScopeFor } from '../auth';
import { Operation } from '../api/operation/operation.decorator';
import { ANY_KEY } from '../api/routes/route-facts';
import { commonErrors } from '../api/errors/common.errors';
import { ADMIN_SCOPE } from '../api/extension/extension';
import { KeyUsage, UsageQuery } from './usage.dto';
import { MAX_ROWS, UsageService } from './usage.service';

@ApiTags('usage')
@Controller('usage')
export class UsageController {
  constructor(private readonly usage: UsageService) {}

  @Get()
  @RequireScopeFor('account', ADMIN_SCOPE)
  @Operation({
    id: 'getUsage',
    summary: 'Show the requests of each day and key',
    description:
      "Returns the requests of each UTC day and key of the key's account, ordered by date and key. A key that was not used on a day has no item. A request appears within 5 s. Requests of getKey are not counted. At most 400 days, which is how long they are kept, and at most 10,000 items. With the scope `admin` a key also reads other accounts: `?account=NAME`; an unknown account has no items.",
    scope: ANY_KEY,
    hasEntityTag: false,
    maxItems: MAX_ROWS,
    returns: [200, [KeyUsage], 'The days of the keys.'],
    rejects: [commonErrors.insufficient_scope],
  })
  getUsage(@CurrentPrincipal() principal: Principal, @Query() query: UsageQuery) {
    return this.usage.list(principal, query);
  }
}
