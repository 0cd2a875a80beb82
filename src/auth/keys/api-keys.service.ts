import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { isInForce, type Precondition } from '../../api/entity-tags/entity-tag';
import { validationFailed } from '../../api/errors/common.errors';
import { StoreScopes } from '../../api/extension/extension';
import { cutPage, type Page, type PageQuery, pageRequestOf } from '../../api/lists/page';
import { CONFIG, type Config } from '../../config/config';
import { UserError } from '../../config/user-error';
import { recordAudit } from '../../database/audit';
import { Sql } from '../../database/sql';
import { Clock } from '../../time/clock';
import { DAY_MS } from '../../time/time';
import { accountErrors } from '../accounts/accounts.errors';
import { AccountsRepository } from '../accounts/accounts.repository';
import type { ChangeContext } from '../accounts/accounts.service';
import { FREE, type PlanChoice } from '../accounts/plans';
import { ApiKeyEntity } from './api-key.entity';
import { ApiKeysRepository, type KeyDetails } from './api-keys.repository';
import { isKeyId, KEY_DAYS, type KeyChange, type NewKey } from './keys.dto';
import { createSecret, prefixOf, storedFormOf } from './secret';

export interface KeyRequest extends NewKey {
  readonly account: string;
  /** The plan of a new account, `free` by default. For an existing account it must equal the account's plan. */
  readonly choice?: PlanChoice | undefined;
  /** True rejects an account that does not exist. */
  readonly isExisting?: boolean;
}

/** Creates, lists and changes keys, for the operations over HTTP and for the commands. */
@Injectable()
export class ApiKeysService {
  constructor(
    private readonly sql: Sql,
    private readonly accounts: AccountsRepository,
    private readonly keys: ApiKeysRepository,
    private readonly clock: Clock,
    private readonly scopes: StoreScopes,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Creates a key, and its account if it does not exist. Its secret is not stored and cannot be read again.
   *
   * @throws ApiError if the account is disabled, or must exist and does not
   * @throws UserError if the account has another plan
   */
  create(request: KeyRequest, { madeByKey, transaction }: ChangeContext = {}) {
    return this.sql.transaction((manager) => this.createIn(manager, request, madeByKey), transaction);
  }

  /** Creates a key if no account exists, else returns undefined. Of concurrent instances, only one creates a key. */
  createFirst(request: KeyRequest) {
    return this.sql.transaction(async (manager) => {
      const isFirst = await this.accounts.lockIfEmpty(manager);
      return isFirst ? this.createIn(manager, request) : undefined;
    });
  }

  /** @param transaction locks the key until it ends @throws ApiError if the key does not exist */
  async get(id: string, transaction?: EntityManager): Promise<KeyDetails> {
    const key = isKeyId(id) ? await this.keys.find(id, this.now(), transaction) : undefined;
    if (!key) throw accountErrors.key_not_found();
    return key;
  }

  /** Lists a page of the keys of an account, or of all. @throws ApiError `account_not_found`, `invalid_cursor` */
  async list(query: PageQuery, account?: string): Promise<Page<Omit<KeyDetails, 'number' | 'plan'>>> {
    // The cursors of earlier versions have this name.
    const request = pageRequestOf('/numbered/keys', query);
    const accountId = account === undefined ? undefined : (await this.accounts.require(account)).id;
    const keys = await this.keys.list(request, accountId, this.now());
    const rows = keys.map((found) => {
      const { number: id, plan: _, ...key } = found;
      return { id, key };
    });
    const page = cutPage(request, rows);
    return page.with(page.items.map(({ key }) => key));
  }

  /** Replaces values of a key. Each instance applies them within 5 s. @throws ApiError if the key does not exist */
  async update(
    id: string,
    { expiresAt: time, ...values }: KeyChange,
    context?: ChangeContext,
    precondition?: Precondition<KeyDetails>,
  ): Promise<KeyDetails> {
    const { label, scopes, addresses } = values;
    if (scopes) this.requireKnown(scopes);
    const expiresAt = dateOf(time);
    const expiry = expiresAt === null ? 'never' : expiresAt?.toISOString();
    const entries = [
      { command: 'keys change', details: label === undefined ? label : `label ${label}` },
      { command: 'keys set-scopes', details: scopes && `scopes ${scopes.join(', ')}` },
      { command: 'keys set-addresses', details: addresses && detailsOf(addresses) },
      { command: 'keys change', details: expiry && `expires ${expiry}` },
    ].filter(({ details }) => details !== undefined);
    const change = { ...values, ...(expiresAt !== undefined && { expiresAt }) };
    return this.change(id, change, entries, context, precondition);
  }

  /** Ends all secrets of a key for good, within 5 s. @throws ApiError if the key does not exist */
  revoke(id: string, context?: ChangeContext, precondition?: Precondition<KeyDetails>): Promise<KeyDetails> {
    return this.change(id, { revokedAt: this.now() }, [{ command: 'keys revoke' }], context, precondition);
  }

  /** Lifts the ban of a key, if it has one. @throws ApiError if neither a key nor a ban has the id */
  unban(id: string, { madeByKey, transaction }: ChangeContext = {}) {
    const keyId = isKeyId(id) ? id.toLowerCase() : id;
    return this.sql.transaction(async (manager) => {
      const wasBanned = await this.keys.liftBan(keyId, this.now(), manager);
      const key = isKeyId(keyId) ? await this.keys.find(keyId, this.now(), manager) : undefined;
      // A key of a team's authenticator is known only by its ban.
      if (!key && !wasBanned) throw accountErrors.key_not_found();
      const entry = { command: 'keys unban', account: key?.account, keyId, madeByKey };
      if (wasBanned) await recordAudit(manager, entry);
      return { wasBanned, key };
    }, transaction);
  }

  /**
   * Gives a key a new secret. Each older secret expires at the end of this grace period, at the end of its own, or
   * with the key, whichever is first. Id, account, scopes, expiry and bans do not change.
   *
   * @throws ApiError if the key does not exist, is revoked or has expired
   */
  rotate(id: string, graceMs: number, { madeByKey, transaction }: ChangeContext = {}) {
    return this.sql.transaction(async (manager) => {
      const old = await this.get(id, manager);
      // Read after the lock, because waiting for it can take time.
      const now = this.clock.now();
      const { prefix, revokedAt, expiresAt, account } = old;
      if (revokedAt || (expiresAt && expiresAt.getTime() <= now)) throw accountErrors.key_not_usable();
      const secret = createSecret(prefix);
      const latest = new Date(now + graceMs);
      // A later expiry of the key must not extend the grace period that the response names.
      const end = expiresAt && expiresAt < latest ? expiresAt : latest;
      const stored = storedFormOf(secret, prefix);
      await this.keys.replaceSecret(old.id, stored, end, manager);
      const details = `older secrets until ${end.toISOString()}`;
      await recordAudit(manager, { command: 'keys rotate', account, keyId: old.id, details, madeByKey });
      return { ...old, lastFour: stored.lastFour, key: secret, graceEndsAt: end };
    }, transaction);
  }

  private now(): Date {
    return new Date(this.clock.now());
  }

  /** Changes a key and records it in one transaction. A change that is in force already is not made again. */
  private change(
    id: string,
    values: Partial<ApiKeyEntity>,
    entries: readonly { readonly command: string; readonly details?: string | undefined }[],
    { madeByKey, transaction }: ChangeContext = {},
    precondition: Precondition<KeyDetails> | undefined,
  ): Promise<KeyDetails> {
    return this.sql.transaction(async (manager) => {
      const key = await this.get(id, manager);
      if (values.revokedAt ? key.revokedAt : isInForce(values, key)) return key;
      precondition?.(key);
      // The audit rejects a change by a revoked key, and a key may revoke itself.
      const common = { account: key.account, keyId: key.id, madeByKey };
      for (const entry of entries) await recordAudit(manager, { ...entry, ...common });
      await manager.update(ApiKeyEntity, { id: key.id }, values);
      return this.get(id, manager);
    }, transaction);
  }

  private async createIn(manager: EntityManager, request: KeyRequest, madeByKey?: string) {
    const { label = '', scopes = this.scopes.ofNewKey, addresses = [], choice, isExisting } = request;
    const { expiresAt = new Date(this.clock.now() + KEY_DAYS * DAY_MS) } = request;
    this.requireKnown(scopes);
    if (isExisting) await this.accounts.require(request.account, manager);
    const found = await this.accounts.findOrCreate(request.account, choice ?? FREE, manager);
    const { account, isNewAccount } = found;
    if (choice && !isInForce(choice, account))
      throw new UserError(
        `The account ${account.name} already has the plan ${account.plan}. Omit --plan and its numbers to add a key to it.`,
      );
    if (account.disabledAt !== null) throw accountErrors.account_disabled();
    const prefix = (await this.keys.keyPrefix(manager)) ?? prefixOf(this.config.deployment);
    const secret = createSecret(prefix);
    const facts = { scopes, addresses, label, expiresAt: dateOf(expiresAt) };
    const key = { accountId: account.id, ...storedFormOf(secret, prefix), ...facts };
    const { identifiers } = await manager.insert(ApiKeyEntity, key);
    const id = String(identifiers[0]?.['id']);
    const only = addresses.length > 0 ? `, ${detailsOf(addresses)}` : '';
    const details = `plan ${account.plan}, scopes ${scopes.join(', ')}${only}`;
    const entry = { command: 'keys create', account: account.name, keyId: id, details, madeByKey };
    await recordAudit(manager, entry);
    return { ...(await this.get(id, manager)), key: secret, isNewAccount };
  }

  /** @throws ApiError `validation_failed` for a scope that the store does not have */
  private requireKnown(scopes: readonly string[]): void {
    const { all } = this.scopes;
    if (scopes.every((each) => all.includes(each))) return;
    throw validationFailed([`scopes must be some of ${all.join(', ')}`]);
  }
}

function dateOf<Unset extends null | undefined>(time: Date | string | Unset): Date | Unset {
  return typeof time === 'string' ? new Date(time) : time;
}

/** Describes the addresses of a key for the audit. */
function detailsOf(addresses: readonly string[]): string {
  return `addresses ${addresses.join(', ') || 'any'}`;
}
