import { Body, Controller, Delete, Get, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IfMatch, type Precondition } from '../../api/entity-tags/entity-tag';
import { ADMIN_SCOPE } from '../../api/extension/extension';
import { Idempotent, type Once } from '../../api/idempotency/idempotent.decorator';
import { SortedPageQuery } from '../../api/lists/page';
import { Operation } from '../../api/operation/operation.decorator';
import type { Principal } from '../../api/routes/request-context';
import { SECOND_MS } from '../../time/time';
import { AccountName } from '../accounts/accounts.dto';
import { accountErrors as errors } from '../accounts/accounts.errors';
import { CurrentPrincipal } from '../current-principal';
import { ApiKeysService } from './api-keys.service';
import { AccountKey, IssuedKey, KeyChange, KeyId, NewKey, Rotation } from './keys.dto';

@ApiTags('keys')
@Controller()
export class KeysController {
  constructor(private readonly keys: ApiKeysService) {}

  @Get('accounts/:account/keys')
  @Operation({
    id: 'listKeys',
    summary: 'List the keys of an account',
    description: 'Lists the keys of an account in the order of their creation, revoked ones included.',
    scope: ADMIN_SCOPE,
    returns: [200, [AccountKey], 'A page of keys. `Link` has the next page.'],
  })
  listKeys(@AccountName() account: string, @Query() query: SortedPageQuery) {
    return this.keys.list(query, account);
  }

  @Post('accounts/:account/keys')
  @Operation({
    id: 'createKey',
    summary: 'Create a key',
    description: 'Creates a key of an account. Only this response has its secret.',
    scope: ADMIN_SCOPE,
    hasEntityTag: false,
    location: '/keys/:id',
    returns: [201, IssuedKey, 'The created key with its secret. `Location` is its URL.'],
    rejects: [errors.account_disabled],
  })
  createKey(
    @CurrentPrincipal() { keyId: madeByKey }: Principal,
    @AccountName() account: string,
    @Body() key: NewKey,
    @Idempotent({ secretOf: '/keys/:id' }) once: Once,
  ) {
    const request = Object.assign({}, key, { account, isExisting: true });
    return once((transaction) => this.keys.create(request, { madeByKey, transaction }));
  }

  @Get('keys/:keyId')
  @Operation({
    id: 'getKeyById',
    summary: 'Get a key',
    description: 'Returns a key of any account, without its secret.',
    scope: ADMIN_SCOPE,
    returns: [200, AccountKey, 'The key.'],
  })
  getKeyById(@KeyId() id: string) {
    return this.keys.get(id);
  }

  @Patch('keys/:keyId')
  @Operation({
    id: 'updateKey',
    summary: 'Change a key',
    description:
      'Replaces the label, the scopes, the addresses or the expiry of a key. In force everywhere within 5 seconds.',
    scope: ADMIN_SCOPE,
    returns: [200, AccountKey, 'The changed key.'],
  })
  updateKey(
    @CurrentPrincipal() { keyId: madeByKey }: Principal,
    @KeyId() id: string,
    @Body() change: KeyChange,
    @IfMatch(AccountKey) check: Precondition<AccountKey>,
  ) {
    return this.keys.update(id, change, { madeByKey }, check);
  }

  @Delete('keys/:keyId')
  @Operation({
    id: 'revokeKey',
    summary: 'Revoke a key',
    description:
      'Ends all secrets of a key for good. The key itself can still be read. In force everywhere within 5 seconds.',
    scope: ADMIN_SCOPE,
    returns: [200, AccountKey, 'The revoked key.'],
  })
  revokeKey(
    @CurrentPrincipal() { keyId: madeByKey }: Principal,
    @KeyId() id: string,
    @IfMatch(AccountKey) check: Precondition<AccountKey>,
  ) {
    return this.keys.revoke(id, { madeByKey }, check);
  }

  @Post('keys/:keyId/rotate')
  @Operation({
    id: 'rotateKey',
    summary: 'Replace the secret of a key',
    description:
      'Gives a key a new secret. Older ones still work for `graceSeconds`. Only this response has the new secret.',
    scope: ADMIN_SCOPE,
    hasEntityTag: false,
    returns: [200, IssuedKey, 'The key with its new secret.'],
    rejects: [errors.key_not_usable],
  })
  rotateKey(
    @CurrentPrincipal() { keyId: madeByKey }: Principal,
    @KeyId() id: string,
    @Body() { graceSeconds }: Rotation,
    @Idempotent({ secretOf: '/keys/:id' }) once: Once,
  ) {
    return once((transaction) => this.keys.rotate(id, graceSeconds * SECOND_MS, { madeByKey, transaction }));
  }

  @Post('keys/:keyId/unban')
  @Operation({
    id: 'unbanKey',
    summary: 'Lift the ban of a key',
    description: 'Lifts the ban of a key, if it has one. In force everywhere within 5 seconds.',
    scope: ADMIN_SCOPE,
    returns: [200, AccountKey, 'The key.'],
  })
  unbanKey(
    @CurrentPrincipal() { keyId: madeByKey }: Principal,
    @KeyId() id: string,
    @Idempotent() once: Once,
  ) {
    return once(async (transaction) => (await this.keys.unban(id, { madeByKey, transaction })).key);
  }
}
