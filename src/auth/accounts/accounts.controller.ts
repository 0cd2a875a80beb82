import { Body, Controller, Get, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IfMatch, type Precondition } from '../../api/entity-tags/entity-tag';
import { ADMIN_SCOPE } from '../../api/extension/extension';
import { Idempotent, type Once } from '../../api/idempotency/idempotent.decorator';
import { SortedPageQuery } from '../../api/lists/page';
import { Operation } from '../../api/operation/operation.decorator';
import type { Principal } from '../../api/routes/request-context';
import { CurrentPrincipal } from '../current-principal';
import { Account, AccountChange, AccountName, NewAccount } from './accounts.dto';
import { accountErrors as errors } from './accounts.errors';
import { AccountsService } from './accounts.service';
import { AuditEntry, ListAuditQuery } from './audit.dto';

@ApiTags('accounts')
@Controller()
export class AccountsController {
  constructor(private readonly accounts: AccountsService) {}

  @Get('accounts')
  @Operation({
    id: 'listAccounts',
    summary: 'List accounts',
    description: 'Lists all accounts in the order of their creation.',
    scope: ADMIN_SCOPE,
    returns: [200, [Account], 'A page of accounts. `Link` has the next page.'],
  })
  listAccounts(@Query() query: SortedPageQuery) {
    return this.accounts.list(query);
  }

  @Post('accounts')
  @Operation({
    id: 'createAccount',
    summary: 'Create an account',
    description: 'Creates an account without a key.',
    scope: ADMIN_SCOPE,
    location: '/accounts/:name',
    returns: [201, Account, 'The created account. `Location` is its URL.'],
    rejects: [errors.account_exists],
  })
  createAccount(
    @CurrentPrincipal() { keyId: madeByKey }: Principal,
    @Body() account: NewAccount,
    @Idempotent() once: Once,
  ) {
    return once((transaction) => this.accounts.create(account, { madeByKey, transaction }));
  }

  @Get('accounts/:account')
  @Operation({
    id: 'getAccount',
    summary: 'Get an account',
    description: 'Returns an account.',
    scope: ADMIN_SCOPE,
    returns: [200, Account, 'The account.'],
  })
  getAccount(@AccountName() name: string) {
    return this.accounts.require(name);
  }

  @Patch('accounts/:account')
  @Operation({
    id: 'updateAccount',
    summary: 'Change an account',
    description:
      'Changes the plan of an account, or makes its keys invalid or valid again. In force everywhere within 5 seconds.',
    scope: ADMIN_SCOPE,
    returns: [200, Account, 'The changed account.'],
    rejects: [errors.plan_conflict],
  })
  updateAccount(
    @CurrentPrincipal() { keyId: madeByKey }: Principal,
    @AccountName() name: string,
    @Body() change: AccountChange,
    @IfMatch(Account) check: Precondition<Account>,
  ) {
    return this.accounts.update(name, change, { madeByKey }, check);
  }

  @Get('audit')
  @Operation({
    id: 'listAudit',
    summary: 'List administrative changes',
    description: 'Lists the changes of accounts, keys, webhooks and the database, also by the operator.',
    scope: ADMIN_SCOPE,
    returns: [200, [AuditEntry], 'A page of entries. `Link` has the next page.'],
  })
  listAudit(@Query() query: ListAuditQuery) {
    return this.accounts.listAudit(query);
  }
}
