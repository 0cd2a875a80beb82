import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { Clock } from '../platform/runtime/clock';
import { CONFIG, type Config } from '../platform/config/config';
import { AccountEntity } from './account.entity';
import { ApiKeyEntity } from './api-key.entity';
import { AccountsRepository, type KeyFilter, type ListedKey } from './accounts.repository';
import { FREE, type Plan, type PlanChoice } from './plans';
import { createSecret, prefixOf, storedFormOf } from './secret';
import { recordAudit } from '../platform/database/audit';
import { UserError } from '../platform/errors/user-error';

export interface KeyRequest {
  readonly account: string;
  /** The plan of a new account, `free` by default. For an existing account it must equal the account's plan. */
  readonly choice: PlanChoice | undefined;
  /** True rejects an account that does not exist. */
  readonly isExisting?: boolean | undefined;
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
   * @throws UserError if the account has another plan or is disabled, or must exist and does not
   */
  create(request: KeyRequest): Promise<IssuedKey & { isNewAccount: boolean }> {
    return this.source.transaction((manager) => this.createIn(manager, request));
  }

  /** Creates a key if no account exists, else returns undefined. Of concurrent instances, only one creates a key. */
  createFirst(request: KeyRequest): Promise<IssuedKey | undefined> {
    return this.source.transaction(async (manager) => {
      const isFirst = await this.keys.lockIfEmpty(manager);
      return isFirst ? this.createIn(manager, request) : undefined;
    });
  }

  /** @throws UserError if the account does not exist */
  async list(filter: KeyFilter = {}): Promise<ListedKey[]> {
    if (filter.account !== undefined) await this.keys.require(filter.account);
    return await this.keys.list(filter, this.now());
  }

  /** Revokes a key. @returns false if it was revoked before @throws UserError if the key does not exist */
  revoke(id: string): Promise<boolean> {
    return this.change(
      'keys revoke',
      id,
      '',
      ({ revokedAt }) => revokedAt === null && { revokedAt: this.now() },
    );
  }

  /** Replaces the scopes of a key. Each instance applies them within 5 s. @throws UserError if the key does not exist */
  async setScopes(id: string, scopes: readonly string[]): Promise<void> {
    await this.change('keys set-scopes', id, `scopes ${scopes.join(', ')}`, () => ({ scopes: [...scopes] }));
  }

  /** Lifts the ban of a key. @returns false if it has none @throws UserError if neither a key nor a ban has the id */
  unban(id: string): Promise<boolean> {
    const keyId = isKeyId(id) ? id.toLowerCase() : id;
    return this.source.transaction(async (manager) => {
      const isLifted = await this.keys.liftBan(id, manager);
      const key = isKeyId(keyId) ? await this.keys.lock(keyId, manager) : null;
      // A key of a team's authenticator is known only by its ban.
      if (!key && !isLifted) throw unknownKey(id);
      const owner = key && (await manager.findOneByOrFail(AccountEntity, { id: key.accountId }));
      if (isLifted) await recordAudit(manager, { command: 'keys unban', account: owner?.name, keyId });
      return isLifted;
    });
  }

  /**
   * Gives a key a new secret. Each older secret expires at the end of this grace period, at the end of its own, or
   * with the key, whichever is first. Id, account, scopes, expiry and bans do not change.
   *
   * @throws UserError if the key does not exist, is revoked or has expired
   */
  rotate(id: string, graceMs: number): Promise<RotatedKey> {
    return this.source.transaction(async (manager) => {
      const { key, account } = await this.lock(id, manager);
      // Read after the lock, because waiting for it can take time.
      const now = this.clock.now();
      requireUsable(key, now);
      const { prefix, scopes, expiresAt } = key;
      const secret = createSecret(prefix);
      const end = new Date(now + graceMs);
      await this.keys.replaceSecret(id, storedFormOf(secret, prefix), end, manager);
      const { name, plan } = account;
      const details = `older secrets until ${end.toISOString()}`;
      await recordAudit(manager, { command: 'keys rotate', account: name, keyId: key.id, details });
      const graceEndsAt = expiresAt && expiresAt < end ? expiresAt : end;
      return { id: key.id, key: secret, account: name, plan, scopes, expiresAt, graceEndsAt };
    });
  }

  private now(): Date {
    return new Date(this.clock.now());
  }

  /** Changes a key and records it in one transaction. @param valuesOf returns false if there is nothing to change */
  private change(
    command: string,
    keyId: string,
    details: string,
    valuesOf: (key: ApiKeyEntity) => Partial<ApiKeyEntity> | false,
  ): Promise<boolean> {
    return this.source.transaction(async (manager) => {
      const { key, account } = await this.lock(keyId, manager);
      const values = valuesOf(key);
      if (values === false) return false;
      await manager.update(ApiKeyEntity, { id: key.id }, values);
      await recordAudit(manager, { command, account: account.name, keyId, details });
      return true;
    });
  }

  private async lock(id: string, manager: EntityManager) {
    const key = isKeyId(id) ? await this.keys.lock(id, manager) : null;
    if (!key) throw unknownKey(id);
    const account = await manager.findOneByOrFail(AccountEntity, { id: key.accountId });
    return { key, account };
  }

  private async createIn(manager: EntityManager, request: KeyRequest) {
    const { label, scopes, choice, isExisting = false } = request;
    if (isExisting) await this.keys.require(request.account, manager);
    const found = await this.keys.findOrCreate(request.account, choice ?? FREE, manager);
    const { account, isNewAccount } = found;
    requireSamePlan(account, choice);
    if (account.disabledAt !== null) {
      throw new UserError(
        `The account ${account.name} is disabled: a key of it would be invalid. Run "accounts enable ${account.name}" first.`,
      );
    }
    const prefix = (await this.keys.keyPrefix(manager)) ?? prefixOf(this.config.deployment);
    const secret = createSecret(prefix);
    const expiresAt = request.expiresAt ?? null;
    const stored = storedFormOf(secret, prefix);
    const key = { accountId: account.id, ...stored, label, scopes: [...scopes], expiresAt };
    const id = await this.keys.insert(key, manager);
    const { name, plan } = account;
    const details = `plan ${plan}, scopes ${scopes.join(', ')}`;
    await recordAudit(manager, { command: 'keys create', account: name, keyId: id, details });
    return { id, key: secret, account: name, plan, scopes, expiresAt, isNewAccount };
  }
}

/** True if the text is a UUID. PostgreSQL would reject any other text with a syntax error. */
function isKeyId(text: string): boolean {
  return UUID.test(text);
}

function unknownKey(id: string): UserError {
  return new UserError(`There is no key with the id ${id}: see "keys list".`);
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
