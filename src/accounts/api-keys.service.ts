import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { Clock } from '../platform/runtime/clock';
import type { Config } from '../platform/config/config';
import { CONFIG } from '../platform/config/config.token';
import type { AccountEntity } from './account.entity';
import { AccountsRepository } from './accounts.repository';
import { ApiKeysRepository, type ListedKey } from './api-keys.repository';
import { isKeyId, unknownKey } from './key-id';
import { FREE, type Plan, type PlanChoice } from './plans';
import { createSecret, prefixOf, storedFormOf } from './secret';
import { UserError } from '../platform/errors/user-error';

export interface KeyRequest {
  readonly account: string;
  /** The plan of a new account, `free` by default. For an existing account it must equal the account's plan. */
  readonly choice: PlanChoice | undefined;
  readonly scopes: readonly string[];
  /** Undefined: the key never expires. */
  readonly expiresAt: Date | undefined;
  readonly label: string;
}

/** A new key with its secret, which is not stored and cannot be read again. */
export interface IssuedKey {
  readonly id: string;
  readonly key: string;
  readonly account: string;
  readonly plan: Plan;
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
}

@Injectable()
export class ApiKeysService {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    private readonly accounts: AccountsRepository,
    private readonly keys: ApiKeysRepository,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Creates a key, and its account if it does not exist.
   *
   * @throws UserError if the account has another plan
   */
  create(request: KeyRequest): Promise<IssuedKey> {
    return this.source.transaction((manager) => this.createIn(manager, request));
  }

  /** Creates a key if no account exists, else returns undefined. Of concurrent instances, only one creates a key. */
  createFirst(request: KeyRequest): Promise<IssuedKey | undefined> {
    return this.source.transaction(async (manager) => {
      const isFirst = await this.accounts.lockIfEmpty(manager);
      return isFirst ? this.createIn(manager, request) : undefined;
    });
  }

  list(accountName?: string): Promise<ListedKey[]> {
    return this.keys.list(accountName, this.now());
  }

  /** Revokes a key. A second call keeps the first time. @throws UserError if the key does not exist */
  async revoke(id: string): Promise<void> {
    await this.requireKey(id);
    await this.keys.revoke(id, this.now());
  }

  /** Replaces the scopes of a key. Each instance applies them within 5 s. @throws UserError if the key does not exist */
  async setScopes(id: string, scopes: readonly string[]): Promise<void> {
    await this.requireKey(id);
    await this.keys.setScopes(id, scopes);
  }

  /** Lifts the ban of a key, if it has one. @throws UserError if the key does not exist */
  async unban(id: string): Promise<void> {
    await this.requireKey(id);
    await this.keys.liftBan(id, this.now());
  }

  private now(): Date {
    return new Date(this.clock.now());
  }

  private async requireKey(id: string): Promise<void> {
    const isKnown = isKeyId(id) && (await this.keys.exists(id));
    if (!isKnown) throw unknownKey(id);
  }

  private async createIn(manager: EntityManager, request: KeyRequest): Promise<IssuedKey> {
    const account = await this.accounts.findOrCreate(request.account, request.choice ?? FREE, manager);
    requireSamePlan(account, request.choice);
    const prefix = prefixOf(this.config.deployment);
    const secret = createSecret(prefix);
    const expiresAt = request.expiresAt ?? null;
    const key = {
      accountId: account.id,
      ...storedFormOf(secret, prefix),
      label: request.label,
      scopes: [...request.scopes],
      expiresAt,
    };
    const id = await this.keys.insert(key, manager);
    return { id, key: secret, account: account.name, plan: account.plan, scopes: request.scopes, expiresAt };
  }
}

function requireSamePlan(account: AccountEntity, choice: PlanChoice | undefined): void {
  if (!choice) return;
  const { plan, perMinute, perDay } = account;
  if (choice.plan === plan && choice.perMinute === perMinute && choice.perDay === perDay) return;
  throw new UserError(
    `The account ${account.name} already has the plan ${plan}. Omit --plan and its numbers to add a key to it.`,
  );
}
