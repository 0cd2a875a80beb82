import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { Clock } from '../clock';
import type { Config } from '../config/config';
import { CONFIG } from '../config/config.token';
import type { AccountEntity } from './account.entity';
import { AccountsError } from './accounts.error';
import { AccountsRepository } from './accounts.repository';
import { ApiKeysRepository, type Ban, type ListedKey } from './api-keys.repository';
import { isKeyId, unknownKey } from './key-id';
import type { Plan, PlanChoice } from './plans';
import type { Scope } from './scopes';
import { createSecret, prefixOf, storedFormOf } from './secret';

export interface KeyRequest {
  readonly account: string;
  /** The plan of a new account; for an existing one it must be the plan it has. Default: free, or what it has. */
  readonly choice: PlanChoice | undefined;
  readonly scopes: readonly Scope[];
  /** Undefined: never. */
  readonly expiresAt: Date | undefined;
  readonly label: string;
}

/** A key at the only moment at which its secret is known. */
export interface IssuedKey {
  readonly id: string;
  readonly key: string;
  readonly account: string;
  readonly plan: Plan;
  readonly scopes: readonly Scope[];
  readonly expiresAt: Date | null;
}

const FREE: PlanChoice = { plan: 'free', perMinute: null, perDay: null };

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
   * Makes a key, and its account if that is new.
   *
   * @throws AccountsError where the account has another plan
   */
  create(request: KeyRequest): Promise<IssuedKey> {
    return this.source.transaction((manager) => this.createIn(manager, request));
  }

  /** Makes a first key where no account exists yet; undefined where one does. Safe against a second instance. */
  createFirst(request: KeyRequest): Promise<IssuedKey | undefined> {
    return this.source.transaction(async (manager) => {
      const isFirst = await this.accounts.lockIfEmpty(manager);
      return isFirst ? this.createIn(manager, request) : undefined;
    });
  }

  list(accountName?: string): Promise<ListedKey[]> {
    return this.keys.list(accountName, this.now());
  }

  /** @throws AccountsError where there is no such key. Revoking twice is no error, and keeps the first time */
  async revoke(id: string): Promise<void> {
    await this.requireKey(id);
    await this.keys.revoke(id, this.now());
  }

  /** Replaces the scopes of a key: in force on every instance within 5 s. @throws AccountsError if it is unknown */
  async setScopes(id: string, scopes: readonly Scope[]): Promise<void> {
    await this.requireKey(id);
    await this.keys.setScopes(id, scopes);
  }

  /** Lifts the ban of a key, if it has one. @throws AccountsError where there is no such key */
  async unban(id: string): Promise<void> {
    await this.requireKey(id);
    await this.keys.liftBan(id, this.now());
  }

  /** Keeps bans beyond the process that gave them. */
  recordBans(bans: readonly Ban[]): Promise<void> {
    return this.keys.recordBans(bans);
  }

  /** Bans that are running, or began within 24 h of a time (milliseconds); those lifted by hand included. */
  recentBans(now: number): Promise<Ban[]> {
    return this.keys.recentBans(now);
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
    refuseOtherPlan(account, request.choice);
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

function refuseOtherPlan(account: AccountEntity, choice: PlanChoice | undefined): void {
  if (!choice) return;
  const { plan, perMinute, perDay } = account;
  if (choice.plan === plan && choice.perMinute === perMinute && choice.perDay === perDay) return;
  throw new AccountsError(
    `The account ${account.name} exists on the plan ${plan}: leave --plan and its numbers out to add a key to it.`,
  );
}
