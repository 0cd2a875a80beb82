import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { EntityManager } from 'typeorm';
import { accountErrors as errors } from '../accounts/accounts.errors';
import { AccountsService, type Maker } from '../accounts/accounts.service';
import { ApiKeysService, KEY_DAYS } from '../keys/api-keys.service';
import { FREE, isPlanChoice, type PlanChoice } from '../accounts/plans';
import { blockListOf } from '../guards/known-keys.repository';
import { insufficientScope } from '../guards/auth.errors';
import { isAllowedAddress } from '../guards/bearer.guard';
import { Sql } from '../../database/sql';
import { isInForce, type Precondition } from '../../api/entity-tags/entity-tag';
import { commonErrors, validationFailed } from '../../api/errors/common.errors';
import { ADMIN_SCOPE } from '../../api/extension/extension';
import { clientAddress } from '../../api/routes/client-address';
import { Clock } from '../../time/clock';
import { StoreScopes } from '../../api/extension/extension';
import { DAY_MS, SECOND_MS } from '../../time/time';
import type * as dto from './administration.dto';
import { AdministrationRepository } from './administration.repository';

/** The transaction of a request with an Idempotency-Key. */
export type Outer = EntityManager | undefined;

export type Client = Pick<FastifyRequest, 'principal' | 'ip'>;

/** Changes accounts and keys by the services of the command line, with the rules that only hold over HTTP. */
@Injectable()
export class AdministrationService {
  constructor(
    private readonly sql: Sql,
    private readonly repository: AdministrationRepository,
    private readonly accounts: AccountsService,
    private readonly keys: ApiKeysService,
    private readonly clock: Clock,
    private readonly scopes: StoreScopes,
  ) {}

  createAccount(by: Client, { name, ...given }: dto.NewAccount, outer: Outer): Promise<dto.Account> {
    return this.change(by, outer, (maker) =>
      this.accounts.create(name, choiceOf({ ...given, plan: given.plan ?? 'free' }, FREE), maker),
    );
  }

  updateAccount(
    by: Client,
    name: string,
    { disabled, ...given }: dto.AccountChange,
    precondition: Precondition<dto.Account>,
  ): Promise<dto.Account> {
    return this.change(by, undefined, async (maker) => {
      const account = await this.accounts.require(name, maker.transaction);
      const isSame = disabled === undefined || disabled === (account.disabledAt !== null);
      if (!isSame || !isInForce(given, account)) precondition(account);
      const isPlan = Object.values(given).some((value) => value !== undefined);
      if (isPlan) await this.accounts.setPlan(name, choiceOf(given, account), maker);
      if (disabled !== undefined) await this.accounts.setDisabled(name, disabled, maker);
      return this.accounts.require(name, maker.transaction);
    });
  }

  createKey(by: Client, account: string, given: dto.NewKey, outer: Outer): Promise<dto.IssuedKey> {
    const { label = '', addresses, scopes = this.scopes.ofNewKey } = given;
    const { expiresAt = new Date(this.clock.now() + KEY_DAYS * DAY_MS).toISOString() } = given;
    this.requireKnown(scopes);
    const facts = { account, label, addresses, scopes, expiresAt: this.expiryOf(expiresAt) ?? undefined };
    return this.change(by, outer, async (maker) => {
      const { id, key } = await this.keys.create({ ...facts, isExisting: true }, maker);
      return { ...(await this.keys.get(id, maker.transaction)), key };
    });
  }

  rotateKey(by: Client, id: string, { graceSeconds }: dto.Rotation, outer: Outer): Promise<dto.IssuedKey> {
    return this.change(by, outer, async (maker) => {
      const { key, graceEndsAt } = await this.keys.rotate(id, graceSeconds * SECOND_MS, maker);
      return { ...(await this.keys.get(id, maker.transaction)), key, graceEndsAt };
    });
  }

  unbanKey(by: Client, id: string, outer: Outer): Promise<dto.AccountKey> {
    return this.change(by, outer, async (maker) => {
      await this.keys.unban(id, maker);
      return this.keys.get(id, maker.transaction);
    });
  }

  /** @param given undefined revokes the key */
  changeKey(
    by: Client,
    id: string,
    given: dto.KeyChange | undefined,
    precondition: Precondition<dto.AccountKey>,
  ): Promise<dto.AccountKey> {
    const { expiresAt: time, ...values } = given ?? {};
    this.requireKnown(values.scopes);
    const expiresAt = this.expiryOf(time);
    const change = { ...values, ...(expiresAt !== undefined && { expiresAt }) };
    return this.change(by, undefined, async (maker) => {
      const key = await this.keys.get(id, maker.transaction);
      const isRepeated = given ? isInForce(change, key) : key.revokedAt !== null;
      if (!isRepeated) precondition(key);
      await (given ? this.keys.update(id, change, maker) : this.keys.revoke(id, maker));
      return this.keys.get(id, maker.transaction);
    });
  }

  /**
   * Makes a change by a key that is usable now: other instances know a revoked one for up to 5 s, in which it could make
   * keys for itself. The change leaves the key as usable as before, so at least one administrator is left.
   *
   * @throws ApiError `insufficient_scope`, `address_not_allowed`, `last_admin_key`, `validation_failed`
   */
  private change<T>({ principal, ip }: Client, outer: Outer, work: (maker: Maker) => Promise<T>): Promise<T> {
    const keyId = principal?.keyId ?? '';
    return this.sql.transaction(async (transaction) => {
      const now = new Date(this.clock.now());
      await this.repository.lock(transaction);
      const before = await this.repository.find(keyId, now, transaction);
      if (before?.isUsable === false) throw insufficientScope(ADMIN_SCOPE);
      if (before && !isAllowedAddress(blockListOf(before.addresses), ip))
        throw commonErrors.address_not_allowed();
      const result = await work({ key: keyId, transaction });
      const after = await this.repository.find(keyId, now, transaction);
      if (!before || !after) return result;
      if (!after.isUsable || after.expiresAt < before.expiresAt) throw errors.last_admin_key();
      if (isAllowedAddress(blockListOf(after.addresses), ip)) return result;
      const own = clientAddress(ip) ?? 'which the proxy does not know';
      throw validationFailed([`addresses must include yours, ${own}`]);
    }, outer);
  }

  /** @throws ApiError `validation_failed` for a scope that the store does not have */
  private requireKnown(scopes: readonly string[] = []): void {
    const { all } = this.scopes;
    if (scopes.every((each) => all.includes(each))) return;
    throw validationFailed([`scopes must be some of ${all.join(', ')}`]);
  }

  /** @throws ApiError `validation_failed` for a time that has passed */
  private expiryOf(expiresAt: string | null | undefined): Date | null | undefined {
    if (typeof expiresAt !== 'string') return expiresAt;
    const expiry = new Date(expiresAt);
    if (expiry.getTime() > this.clock.now()) return expiry;
    throw validationFailed(['expiresAt must be a later time']);
  }
}

/**
 * Completes a plan: limits that are left out keep their value if the plan does.
 *
 * @throws ApiError `validation_failed` for limits that do not fit the given plan, `plan_conflict` if it is the account's
 */
function choiceOf(given: Partial<PlanChoice>, { plan: old, ...limits }: PlanChoice): PlanChoice {
  const { plan = old } = given;
  const kept = plan === old ? limits : FREE;
  const { perMinute = kept.perMinute, perDay = kept.perDay } = given;
  const choice = { plan, perMinute, perDay };
  if (isPlanChoice(choice)) return choice;
  if (given.plan === undefined) throw errors.plan_conflict();
  const isEnterprise = plan === 'enterprise';
  const wrong = (['perMinute', 'perDay'] as const).filter((name) => (choice[name] === null) === isEnterprise);
  const rule = `must be ${isEnterprise ? 'given' : 'left out'} with the plan ${plan}`;
  throw validationFailed(wrong.map((name) => `${name} ${rule}`));
}
