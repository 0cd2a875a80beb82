import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal, type Principal } from '../auth';
import { Operation } from '../platform/api-docs/operation.decorator';
import { ANY_KEY } from '../platform/api-docs/required-scopes';
import { Uncounted } from '../platform/api-docs/uncounted.decorator';
import { CurrentStanding, type Standing } from '../rate-limit';
import { ApiKey } from './key.dto';
import { KeyService } from './key.service';

@ApiTags('key')
@Controller({ path: 'key', version: '1' })
export class KeyController {
  constructor(private readonly keys: KeyService) {}

  @Get()
  @Uncounted()
  @Operation({
    id: 'getKey',
    summary: 'Show the current API key',
    description:
      'Returns what the key may do, how much of its limits is left, and its strikes. The request counts in no window. It also succeeds while the limits are used up, and while the key is banned.',
    extension: true,
    scope: ANY_KEY,
    untagged: true,
    returns: [200, ApiKey, 'The key.'],
  })
  getKey(@CurrentPrincipal() principal: Principal, @CurrentStanding() standing: Standing): ApiKey {
    return this.keys.describe(principal, standing);
  }
}
