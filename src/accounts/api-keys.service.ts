import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { Clock } from '../platform/runtime/clock';
import type { Config } from '../platform/config/config';
import { CONFIG } from '../platform/config/config.token';
import { AccountEntity } from './account.entity';
import type { ApiKeyEntity } from './api-key.entity';
import { AccountsRepository, type ListedKey } from './accounts.repository';
import { FREE, type Plan, type PlanChoice } from './plans';
import { createSecret, prefixOf, storedFormOf } from './secret';
import { recordAudit } from '../platform/database/audit';
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

/** A key with its new secret, which is not stored and cannot be read again. */
export interface RotatedKey extends IssuedKey {
  /** From this time only the new secret is valid. */
  readonly graceEndsAt: Date;
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

@Injectable()
export class ApiKeysService {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    private readonly keys: AccountsRepository,
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
      const isFirst = await this.keys.lockIfEmpty(manager);
      return isFirst ? this.createIn(manager, request) : undefined;
    });
  }

  list(accountName?: string): Promise<ListedKey[]> {
    return this.keys.list(accountName, this.now());
  }

  /** Revokes a key. A second call keeps the first time. @throws UserError if the key does not exist */
  revoke(id: string): Promise<void> {
    return this.change('keys revoke', id, '', (manager) => this.keys.revoke(id, this.now(), manager));
  }

  /** Replaces the scopes of a key. Each instance applies them within 5 s. @throws UserError if the key does not exist */
  setScopes(id: string, scopes: readonly string[]): Promise<void> {
    const details = `scopes ${scopes.join(', ')}`;
    return this.change('keys set-scopes', id, details, (manager) => this.keys.setScopes(id, scopes, manager));
  }

  /** Lifts the ban of a key, if it has one. @throws UserError if neither a key nor a ban has the id */
  unban(id: string): Promise<void> {
    const keyId = isKeyId(id) ? id.toLowerCase() : id;
    return this.source.transaction(async (manager) => {
      const isLifted = await this.keys.liftBan(id, manager);
      const key = isKeyId(keyId) ? await this.keys.lock(keyId, manager) : null;
      // A key of a team's authenticator is known only by its ban.
      if (!key && !isLifted) throw unknownKey(id);
      const account = key
        ? (await manager.findOneByOrFail(AccountEntity, { id: key.accountId })).name
        : undefined;
      await recordAudit(manager, { command: 'keys unban', account, keyId });
    });
  }

  /**
   * Gives a key a new secret. Each older secret expires at the end of this grace period, at the end of its own, or
   * with the key, whichever is first. Id, account, scopes, expiry and bans do not change.
   *
   * @throws UserError if the key does not exist, is revoked or has expired
   */
  rotate(id: string, graceMs: number): Promise<RotatedKey> {
    return this.source.transaction((manager) => this.rotateIn(manager, id, graceMs));
  }

  private now(): Date {
    return new Date(this.clock.now());
  }

  /** Changes a key and records it in one transaction. */
  private change(
    command: string,
    keyId: string,
    details: string,
    work: (manager: EntityManager) => Promise<void>,
  ): Promise<void> {
    return this.source.transaction(async (manager) => {
      const { account } = await this.lock(keyId, manager);
      await work(manager);
      await recordAudit(manager, { command, account: account.name, keyId, details });
    });
  }

  private async lock(
    id: string,
    manager: EntityManager,
  ): Promise<{ key: ApiKeyEntity; account: AccountEntity }> {
    const key = isKeyId(id) ? await this.keys.lock(id, manager) : null;
    if (!key) throw unknownKey(id);
    const account = await manager.findOneByOrFail(AccountEntity, { id: key.accountId });
    return { key, account };
  }

  private async rotateIn(manager: EntityManager, id: string, graceMs: number): Promise<RotatedKey> {
    const { key, account } = await this.lock(id, manager);
    // Read after the lock, because waiting for it can take time.
    const now = this.clock.now();
    requireUsable(key, now);
    const { prefix, scopes, expiresAt } = key;
    // The prefix stays the key's own: this command may run with another DEPLOYMENT.
    const secret = createSecret(prefix);
    const end = new Date(now + graceMs);
    await this.keys.replaceSecret(id, storedFormOf(secret, prefix), end, manager);
    const { name, plan } = account;
    const details = `older secrets until ${end.toISOString()}`;
    await recordAudit(manager, { command: 'keys rotate', account: name, keyId: key.id, details });
    const graceEndsAt = expiresAt && expiresAt < end ? expiresAt : end;
    return { id: key.id, key: secret, account: name, plan, scopes, expiresAt, graceEndsAt };
  }

  private async createIn(manager: EntityManager, request: KeyRequest): Promise<IssuedKey> {
    const account = await this.keys.findOrCreate(request.account, request.choice ?? FREE, manager);
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
    const details = `plan ${account.plan}, scopes ${request.scopes.join(', ')}`;
    await recordAudit(manager, { command: 'keys create', account: account.name, keyId: id, details });
    return { id, key: secret, account: account.name, plan: account.plan, scopes: request.scopes, expiresAt };
  }
}

/** True if the text is a UUID. PostgreSQL would reject any other text with a syntax error. */
export function isKeyId(text: string): boolean {
  return UUID.test(text);
}

function unknownKey(id: string): UserError {
  return new UserError(`There is no key with the id ${id}.`);
}

function requireUsable({ id, revokedAt, expiresAt }: ApiKeyEntity, now: number): void {
  if (revokedAt) throw new UserError(`The key ${id} was revoked: create a new key instead.`);
  if (expiresAt && expiresAt.getTime() <= now) {
    throw new UserError(`The key ${id} has expired: create a new key instead.`);
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
