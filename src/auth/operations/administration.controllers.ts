import { Body, Controller, Delete, Get, Patch, Post, Query, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { accountErrors as errors } from '../accounts/accounts.errors';
import { AccountsService } from '../accounts/accounts.service';
import { ApiKeysService, isKeyId } from '../keys/api-keys.service';
import { Operation, type OperationFacts } from '../../api/operation/operation.decorator';
import { IfMatch, type Precondition } from '../../api/entity-tags/entity-tag';
import { ADMIN_SCOPE } from '../../api/extension/extension';
import { Idempotent, type Once } from '../../api/idempotency/idempotent.decorator';
import { SortedPageQuery } from '../../api/lists/page';
import { PathParam } from '../../api/routes/route-facts';
import * as dto from './administration.dto';
import { AdministrationService, type Client } from './administration.service';

/** Each operation needs the scope `admin`. */
const AdminOperation = (facts: Omit<OperationFacts, 'scope'>) => Operation({ ...facts, scope: ADMIN_SCOPE });

const AccountName = () =>
  PathParam(
    {
      name: 'account',
      description: 'Name of the account.',
      example: 'acme',
      schema: dto.NAME_SCHEMA,
    },
    (text) => {
      // PostgreSQL stores neither.
      if (/[\0\p{Cs}]/u.test(text)) throw errors.account_not_found();
      return text;
    },
    errors.account_not_found,
  );

const KeyId = () =>
  PathParam(
    {
      name: 'keyId',
      description: 'Identifier of the key.',
      example: '5a4b1f1e-6c8e-4d6e-9f0a-1b2c3d4e5f60',
      schema: { type: 'string', format: 'uuid', minLength: 36, maxLength: 36 },
    },
    (text) => {
      if (!isKeyId(text)) throw errors.key_not_found();
      return text.toLowerCase();
    },
    errors.key_not_found,
  );

const SOON = 'In force everywhere within 5 seconds.';

@ApiTags('accounts')
@Controller()
export class AccountsController {
  constructor(
    private readonly administration: AdministrationService,
    private readonly accounts: AccountsService,
  ) {}

  @Get('accounts')
  @AdminOperation({
    id: 'listAccounts',
    summary: 'List accounts',
    description: 'Lists all accounts in the order of their creation.',
    returns: [200, [dto.Account], 'A page of accounts. `Link` has the next page.'],
  })
  listAccounts(@Query() query: SortedPageQuery) {
    return this.accounts.list(query);
  }

  @Post('accounts')
  @AdminOperation({
    id: 'createAccount',
    summary: 'Create an account',
    description: 'Creates an account without a key.',
    location: '/accounts/:name',
    returns: [201, dto.Account, 'The created account. `Location` is its URL.'],
    rejects: [errors.account_exists],
  })
  createAccount(@Req() by: Client, @Body() account: dto.NewAccount, @Idempotent() once: Once) {
    return once((outer) => this.administration.createAccount(by, account, outer));
  }

  @Get('accounts/:account')
  @AdminOperation({
    id: 'getAccount',
    summary: 'Get an account',
    description: 'Returns an account.',
    returns: [200, dto.Account, 'The account.'],
  })
  getAccount(@AccountName() name: string) {
    return this.accounts.require(name);
  }

  @Patch('accounts/:account')
  @AdminOperation({
    id: 'updateAccount',
    summary: 'Change an account',
    description: `Changes the plan of an account, or makes its keys invalid or valid again. ${SOON}`,
    returns: [200, dto.Account, 'The changed account.'],
    rejects: [errors.plan_conflict, errors.last_admin_key],
  })
  updateAccount(
    @Req() by: Client,
    @AccountName() name: string,
    @Body() change: dto.AccountChange,
    @IfMatch(dto.Account) check: Precondition<dto.Account>,
  ) {
    return this.administration.updateAccount(by, name, change, check);
  }

  @Get('audit')
  @AdminOperation({
    id: 'listAudit',
    summary: 'List administrative changes',
    description: 'Lists the changes of accounts, keys, webhooks and the database, also by the operator.',
    returns: [200, [dto.AuditEntry], 'A page of entries. `Link` has the next page.'],
  })
  listAudit(@Query() query: dto.ListAuditQuery) {
    return this.accounts.listAudit(query);
  }
}

@ApiTags('keys')
@Controller()
export class KeysController {
  constructor(
    private readonly administration: AdministrationService,
    private readonly keys: ApiKeysService,
  ) {}

  @Get('accounts/:account/keys')
  @AdminOperation({
    id: 'listKeys',
    summary: 'List the keys of an account',
    description: 'Lists the keys of an account in the order of their creation, revoked ones included.',
    returns: [200, [dto.AccountKey], 'A page of keys. `Link` has the next page.'],
  })
  listKeys(@AccountName() account: string, @Query() query: SortedPageQuery) {
    return this.keys.list(query, { account });
  }

  @Post('accounts/:account/keys')
  @AdminOperation({
    id: 'createKey',
    summary: 'Create a key',
    description: 'Creates a key of an account. Only this response has its secret.',
    hasEntityTag: false,
    location: '/keys/:id',
    returns: [201, dto.IssuedKey, 'The created key with its secret. `Location` is its URL.'],
    rejects: [errors.account_disabled],
  })
  createKey(
    @Req() by: Client,
    @AccountName() account: string,
    @Body() key: dto.NewKey,
    @Idempotent({ secretOf: '/keys/:id' }) once: Once,
  ) {
    return once((outer) => this.administration.createKey(by, account, key, outer));
  }

  @Get('keys/:keyId')
  @AdminOperation({
    id: 'getKeyById',
    summary: 'Get a key',
    description: 'Returns a key of any account, without its secret.',
    returns: [200, dto.AccountKey, 'The key.'],
  })
  getKeyById(@KeyId() id: string) {
    return this.keys.get(id);
  }

  @Patch('keys/:keyId')
  @AdminOperation({
    id: 'updateKey',
    summary: 'Change a key',
    description: `Replaces the label, the scopes, the addresses or the expiry of a key. ${SOON}`,
    returns: [200, dto.AccountKey, 'The changed key.'],
    rejects: [errors.last_admin_key],
  })
  updateKey(
    @Req() by: Client,
    @KeyId() id: string,
    @Body() change: dto.KeyChange,
    @IfMatch(dto.AccountKey) check: Precondition<dto.AccountKey>,
  ) {
    return this.administration.changeKey(by, id, change, check);
  }

  @Delete('keys/:keyId')
  @AdminOperation({
    id: 'revokeKey',
    summary: 'Revoke a key',
    description: `Ends all secrets of a key for good. The key itself can still be read. ${SOON}`,
    returns: [200, dto.AccountKey, 'The revoked key.'],
    rejects: [errors.last_admin_key],
  })
  revokeKey(
    @Req() by: Client,
    @KeyId() id: string,
    @IfMatch(dto.AccountKey) check: Precondition<dto.AccountKey>,
  ) {
    return this.administration.changeKey(by, id, undefined, check);
  }

  @Post('keys/:keyId/rotate')
  @AdminOperation({
    id: 'rotateKey',
    summary: 'Replace the secret of a key',
    description:
      'Gives a key a new secret. Older ones still work for `graceSeconds`. Only this response has the new secret.',
    hasEntityTag: false,
    returns: [200, dto.IssuedKey, 'The key with its new secret.'],
    rejects: [errors.key_not_usable],
  })
  rotateKey(
    @Req() by: Client,
    @KeyId() id: string,
    @Body() rotation: dto.Rotation,
    @Idempotent({ secretOf: '/keys/:id' }) once: Once,
  ) {
    return once((outer) => this.administration.rotateKey(by, id, rotation, outer));
  }

  @Post('keys/:keyId/unban')
  @AdminOperation({
    id: 'unbanKey',
    summary: 'Lift the ban of a key',
    description: `Lifts the ban of a key, if it has one. ${SOON}`,
    returns: [200, dto.AccountKey, 'The key.'],
  })
  unbanKey(@Req() by: Client, @KeyId() id: string, @Idempotent() once: Once) {
    return once((outer) => this.administration.unbanKey(by, id, outer));
  }
}
