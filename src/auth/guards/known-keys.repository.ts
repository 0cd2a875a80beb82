import { BlockList, isIPv6 } from 'node:net';
import { Injectable } from '@nestjs/common';
import { limitsOf, type PlanChoice } from '../accounts/plans';
import { Sql, type Statement } from '../../database/sql';
import type { Principal } from '../../api/routes/request-context';

/** A key, as a request needs it. */
export interface KnownKey {
  readonly principal: Principal;
  readonly isRevoked: boolean;
  /** True for a secret whose grace period ends before the key expires. */
  readonly isReplaced: boolean;
}

/** A secret, its key and the account. */
interface Row
  extends PlanChoice, Omit<Principal, 'limits' | 'plan' | 'addresses'>, Omit<KnownKey, 'principal'> {
  readonly hash: string;
  /** Addresses and CIDR blocks. */
  readonly addresses: readonly string[];
}

const FIND = `
  SELECT encode(s.secret_hash, 'hex') AS hash, k.id AS "keyId", k.account_id AS "accountId", a.name AS "accountName", a.plan,
         a.per_minute AS "perMinute", a.per_day AS "perDay",
         k.label, k.created_at AS "createdAt", k.scopes, k.addresses, k.revoked_at IS NOT NULL AS "isRevoked",
         least(s.valid_until, k.expires_at) AS "expiresAt", s.valid_until < coalesce(k.expires_at, 'infinity') IS TRUE AS "isReplaced"
  FROM (
    SELECT secret_hash, id AS key_id, NULL::timestamptz AS valid_until FROM api_keys
    WHERE secret_hash = ANY ($1::bytea[])
    UNION ALL
    SELECT secret_hash, key_id, valid_until FROM rotated_secrets WHERE secret_hash = ANY ($1::bytea[])
  ) s JOIN api_keys k ON k.id = s.key_id JOIN accounts a ON a.id = k.account_id AND a.disabled_at IS NULL`;

/** Shares connections with other reads. A flood of made-up keys must not delay those, so `FIND` uses the pool. */
const REFRESH: Statement = { text: FIND, isPipelined: true };

@Injectable()
export class KnownKeysRepository {
  constructor(private readonly sql: Sql) {}

  /**
   * @param hashes SHA-256 of each secret as hex
   * @param areKnown true for secrets that were those of keys lately
   * @returns the keys by the hash of their secret; a secret of no key is missing
   */
  async find(hashes: readonly string[], areKnown: boolean): Promise<ReadonlyMap<string, KnownKey>> {
    const statement = areKnown ? REFRESH : FIND;
    const rows = await this.sql.rows<Row>(statement, [hashes.map((hash) => Buffer.from(hash, 'hex'))]);
    return new Map(rows.map((row) => [row.hash, knownKeyOf(row)]));
  }
}

function knownKeyOf(row: Row): KnownKey {
  const { hash: _, perMinute, perDay, isRevoked, isReplaced, ...key } = row;
  const limits = limitsOf({ plan: key.plan, perMinute, perDay });
  return { principal: { ...key, limits, addresses: blockListOf(key.addresses) }, isRevoked, isReplaced };
}

/** Returns undefined for an empty list, which allows every address. */
function blockListOf(addresses: readonly string[]): BlockList | undefined {
  if (addresses.length === 0) return undefined;
  const list = new BlockList();
  for (const each of addresses) {
    const [address = '', bits] = each.split('/');
    const isLong = isIPv6(address);
    list.addSubnet(address, Number(bits ?? (isLong ? 128 : 32)), isLong ? 'ipv6' : 'ipv4');
  }
  return list;
}
