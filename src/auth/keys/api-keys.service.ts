import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { cutPage, type Page, type PageQuery, pageRequestOf } from '../../api/lists/page';
import { Clock } from '../../time/clock';
import { CONFIG, type Config } from '../../config/config';
import { AccountEntity } from '../accounts/account.entity';
import { ApiKeyEntity } from './api-key.entity';
import { AccountsRepository } from '../accounts/accounts.repository';
import { ApiKeysRepository, type KeyFilter, type ListedKey } from './api-keys.repository';
import { FREE, type PlanChoice } from '../accounts/plans';
import { createSecret, prefixOf, storedFormOf } from './secret';
import { type AuditEntry, recordAudit } from '../../database/audit';
import { Sql } from '../../database/sql';
import type { ApiError } from '../../api/errors/api-error';
import { UserError } from '../../config/user-error';
import { DAY_MS } from '../../time/time';
import { accountErrors } from '../accounts/accounts.errors';
import type { Maker } from '../accounts/accounts.service';

export interface KeyRequest {
  readonly account: string;
  /** The plan of a new account, `free` by default. For an existing account it must equal the account's plan. */
  readonly choice?: PlanChoice | undefined;
  /** True rejects an account that does not exist. */
  readonly isExisting?: boolean | undefined;
  readonly scopes: readonly string[];
  /** The only addresses, or CIDR blocks, of clients that may use the key. Default: all may. */
  readonly addresses?: readonly string[] | undefined;
  /** Undefined: the key never expires. */
  readonly expiresAt: Date | undefined;
  readonly label: string;
}

/** If `expiresAt` is null, the key never expires. */
type KeyChange = Partial<Pick<ApiKeyEntity, 'label' | 'scopes' | 'addresses' | 'expiresAt'>>;

export const MAX_ADDRESSES = 20;
/** The days after which a new key expires, and the hours of grace of a rotation, unless the request names others. */
export const KEY_DAYS = 365;
export const GRACE_HOURS = 24;
export const MAX_GRACE_MS = 7 * DAY_MS;

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

@Injectable()
export class ApiKeysService {
  constructor(
    private readonly sql: Sql,
    private readonly accounts: AccountsRepository,
    private readonly keys: ApiKeysRepository,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Creates a key, and its account if it does not exist. Its secret is not stored and cannot be read again.
   *
   * @throws ApiError if the account is disabled, or must exist and does not
   * @throws UserError if the account has another plan
   */
  create(request: KeyRequest, by?: Maker) {
    return this.sql.transaction((manager) => this.createIn(manager, request, by?.key), by?.transaction);
  }

  /** Creates a key if no account exists, else returns undefined. Of concurrent instances, only one creates a key. */
  createFirst(request: KeyRequest) {
    return this.sql.transaction(async (manager) => {
      const isFirst = await this.accounts.lockIfEmpty(manager);
      return isFirst ? this.createIn(manager, request) : undefined;
    });
  }

  /** @param transaction locks the row until it ends @throws ApiError if the key does not exist */
  async get(id: string, transaction?: EntityManager): Promise<ListedKey> {
    if (transaction) await this.lock(id, transaction);
    const key = isKeyId(id) ? await this.keys.find(id, this.now(), transaction) : undefined;
    if (!key) throw unknownKey(id);
    return key;
  }

  /** Lists a page of keys. @throws ApiError `account_not_found`, `invalid_cursor` */
  async list(query: PageQuery, filter: KeyFilter = {}): Promise<Page<Omit<ListedKey, 'number'>>> {
    // The cursors of earlier versions have this name.
    const request = pageRequestOf('/numbered/keys', query);
    const { account } = filter;
    const accountId = account === undefined ? undefined : (await this.accounts.require(account)).id;
    const keys = await this.keys.list(request, filter, accountId, this.now());
    const page = cutPage(
      request,
      keys.map(({ number: id, ...key }) => ({ id, key })),
    );
    return page.with(page.items.map(({ key }) => key));
  }

  /** Revokes a key. @returns false if it was revoked before @throws ApiError if the key does not exist */
  revoke(id: string, by?: Maker): Promise<boolean> {
    const values = ({ revokedAt }: ApiKeyEntity) => revokedAt === null && { revokedAt: this.now() };
    return this.change([{ command: 'keys revoke' }], id, values, by);
  }

  /** Replaces values of a key. Each instance applies them within 5 s. @throws ApiError if the key does not exist */
  async update(id: string, change: KeyChange, by?: Maker): Promise<void> {
    const { label, scopes, addresses, expiresAt } = change;
    const expiry = expiresAt === null ? 'never' : expiresAt?.toISOString();
    const entries = [
      { command: 'keys change', details: label === undefined ? label : `label ${label}` },
      { command: 'keys set-scopes', details: scopes && `scopes ${scopes.join(', ')}` },
      { command: 'keys set-addresses', details: addresses && detailsOf(addresses) },
      { command: 'keys change', details: expiry && `expires ${expiry}` },
    ];
    const given = entries.filter(({ details }) => details !== undefined);
    if (given.length > 0) await this.change(given, id, () => change, by);
  }

  /** Lifts the ban of a key. @returns false if it has none @throws ApiError if neither a key nor a ban has the id */
  unban(id: string, by?: Maker): Promise<boolean> {
    const keyId = isKeyId(id) ? id.toLowerCase() : id;
    return this.sql.transaction(async (manager) => {
      const isLifted = await this.keys.liftBan(id, this.now(), manager);
      const key = isKeyId(keyId) ? await this.keys.lock(keyId, manager) : null;
      // A key of a team's authenticator is known only by its ban.
      if (!key && !isLifted) throw unknownKey(id);
      const owner = key && (await manager.findOneByOrFail(AccountEntity, { id: key.accountId }));
      const entry = { command: 'keys unban', account: owner?.name, keyId, madeByKey: by?.key };
      if (isLifted) await recordAudit(manager, entry);
      return isLifted;
    }, by?.transaction);
  }

  /**
   * Gives a key a new secret. Each older secret expires at the end of this grace period, at the end of its own, or
   * with the key, whichever is first. Id, account, scopes, expiry and bans do not change.
   *
   * @throws ApiError if the key does not exist, is revoked or has expired
   */
  rotate(id: string, graceMs: number, by?: Maker) {
    return this.sql.transaction(async (manager) => {
      const { key, account } = await this.lock(id, manager);
      // Read after the lock, because waiting for it can take time.
      const now = this.clock.now();
      requireUsable(key, now);
      const { prefix, scopes, expiresAt } = key;
      const secret = createSecret(prefix);
      const latest = new Date(now + graceMs);
      // A later expiry of the key must not extend the grace period that the response names.
      const end = expiresAt && expiresAt < latest ? expiresAt : latest;
      await this.keys.replaceSecret(id, storedFormOf(secret, prefix), end, manager);
      const { name, plan } = account;
      const details = `older secrets until ${end.toISOString()}`;
      const entry = { command: 'keys rotate', account: name, keyId: key.id, details, madeByKey: by?.key };
      await recordAudit(manager, entry);
      return { id: key.id, key: secret, account: name, plan, scopes, expiresAt, graceEndsAt: end };
    }, by?.transaction);
  }

  private now(): Date {
    return new Date(this.clock.now());
  }

  /** Changes a key and records it in one transaction. @param valuesOf returns false if there is nothing to change */
  private change(
    entries: readonly AuditEntry[],
    id: string,
    valuesOf: (key: ApiKeyEntity) => Partial<ApiKeyEntity> | false,
    by: Maker | undefined,
  ): Promise<boolean> {
    return this.sql.transaction(async (manager) => {
      const { key, account } = await this.lock(id, manager);
      const values = valuesOf(key);
      if (values === false) return false;
      await manager.update(ApiKeyEntity, { id: key.id }, values);
      const common = { account: account.name, keyId: key.id, madeByKey: by?.key };
      for (const entry of entries) await recordAudit(manager, { ...entry, ...common });
      return true;
    }, by?.transaction);
  }

  private async lock(id: string, manager: EntityManager) {
    const key = isKeyId(id) ? await this.keys.lock(id, manager) : null;
    if (!key) throw unknownKey(id);
    const account = await manager.findOneByOrFail(AccountEntity, { id: key.accountId });
    return { key, account };
  }

  private async createIn(manager: EntityManager, request: KeyRequest, madeByKey?: string) {
    const { label, scopes, addresses = [], choice, isExisting = false } = request;
    if (isExisting) await this.accounts.require(request.account, manager);
    const found = await this.accounts.findOrCreate(request.account, choice ?? FREE, manager);
    const { account, isNewAccount } = found;
    requireSamePlan(account, choice);
    if (account.disabledAt !== null) {
      const message = `The account ${account.name} is disabled: a key of it would be invalid. Enable the account first.`;
      throw accountErrors.account_disabled({ message });
    }
    const prefix = (await this.keys.keyPrefix(manager)) ?? prefixOf(this.config.deployment);
    const secret = createSecret(prefix);
    const expiresAt = request.expiresAt ?? null;
    const stored = storedFormOf(secret, prefix);
    const key = { accountId: account.id, ...stored, scopes, addresses, label, expiresAt };
    const id = await this.keys.insert(key, manager);
    const { name, plan } = account;
    const only = addresses.length > 0 ? `, ${detailsOf(addresses)}` : '';
    const details = `plan ${plan}, scopes ${scopes.join(', ')}${only}`;
    await recordAudit(manager, { command: 'keys create', account: name, keyId: id, details, madeByKey });
    return { id, key: secret, account: name, plan, scopes, expiresAt, isNewAccount };
  }
}

/** True if the text is a UUID. PostgreSQL would reject any other text with a syntax error. */
export function isKeyId(text: string): boolean {
  return UUID.test(text);
}

/** Describes the addresses of a key for the audit. */
function detailsOf(addresses: readonly string[]): string {
  return `addresses ${addresses.join(', ') || 'any'}`;
}

function unknownKey(id: string): ApiError {
  return accountErrors.key_not_found({ message: `There is no key with the id ${id}: list the keys.` });
}

function requireUsable({ id, revokedAt, expiresAt }: ApiKeyEntity, now: number): void {
  const isExpired = expiresAt && expiresAt.getTime() <= now;
  if (!revokedAt && !isExpired) return;
  const message = `The key ${id} ${revokedAt ? 'was revoked' : 'has expired'}: create a new key instead.`;
  throw accountErrors.key_not_usable({ message });
}

function requireSamePlan(account: AccountEntity, choice: PlanChoice | undefined): void {
  if (!choice) return;
  const { plan, perMinute, perDay } = account;
  if (choice.plan === plan && choice.perMinute === perMinute && choice.perDay === perDay) return;
  throw new UserError(
    `The account ${account.name} already has the plan ${plan}. Omit --plan and its numbers to add a key to it.`,
  );
}
