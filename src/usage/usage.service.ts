import { Injectable } from '@nestjs/common';
import { AccountsService, type Principal } from '../auth';
import { validationFailed } from '../api/errors/common.errors';
import { Clock } from '../time/clock';
import { DAY_MS, dateOf } from '../time/time';
import type { KeyUsage, UsageQuery } from './usage.dto';
import { UsageRepository } from './usage.repository';

/** Days that usage is kept, and the most of one request. */
export const MAX_DAYS = 400;
export const MAX_ROWS = 10_000;

@Injectable()
export class UsageService {
  constructor(
    private readonly usage: UsageRepository,
    private readonly accounts: AccountsService,
    private readonly clock: Clock,
  ) {}

  /** Lists the usage of the caller's account, or of `?account=`; an unknown one has none. @throws ApiError 400 */
  async list({ accountId: own }: Principal, query: UsageQuery): Promise<readonly KeyUsage[]> {
    const { from, to = this.today() } = query;
    const daysBefore = from === undefined ? 0 : (Date.parse(to) - Date.parse(from)) / DAY_MS;
    if (daysBefore < 0 || daysBefore >= MAX_DAYS)
      throw validationFailed([`from must not be later than to, and at most ${MAX_DAYS - 1} days before it`]);
    const accountId = query.account === undefined ? own : (await this.accounts.find(query.account))?.id;
    if (accountId === undefined) return [];
    const found = await this.usage.read(from, to, MAX_ROWS + 1, accountId);
    if (found.length > MAX_ROWS)
      throw validationFailed([`from must be later: the range has over ${MAX_ROWS} items`]);
    return found;
  }

  /** Lists the usage of one account, or of all, for the command line. @throws ApiError if the account does not exist */
  async listAll({ account, from, to = this.today() }: UsageQuery) {
    const owner = account === undefined ? undefined : await this.accounts.require(account);
    return await this.usage.read(from, to, null, owner?.id);
  }

  private today(): string {
    return dateOf(this.clock.now());
  }
}
