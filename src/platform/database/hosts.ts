import { Client, type ClientConfig } from 'pg';
import { hostUrls, targetOf } from '../config/host-urls';
import { codeOf } from '../errors/user-error';

/** Time in which a host of a cluster must respond, or a statement end. Doubled if none is suitable and one was silent. */
const PATIENCE_MS = 1_000;
const SILENT_LAST_MS = 30_000;
/** Each change that a read-only server rejects must not cost the reads their connections. */
const RENEWAL_INTERVAL_MS = 1_000;

/** Messages of node-postgres for a host that does not respond in time. */
const SILENCE = /^(timeout expired|Query read timeout)$/;

/** SQLSTATE code of a read-only session. */
const READ_ONLY = '25006';

/** Selects true in a session that `target_session_attrs` rejects. */
const REJECTIONS: Readonly<Record<string, string>> = {
  'read-write': `SELECT current_setting('transaction_read_only') = 'on' AS rejected`,
  primary: 'SELECT pg_is_in_recovery() AS rejected',
};

/** Each promotion raises the timeline. Without a fence an old primary is still writable, but its commits wait for standbys. */
const PRIMARY = `
  SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) AS timeline,
    EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep') AS waits`;

interface Primary {
  readonly timeline: string;
  /** True if a commit waits for a standby. */
  readonly waits: boolean;
}

interface Found {
  readonly url: string;
  readonly client: Client;
}

/** The hosts of a database URL, and what its connections have found out about them. */
export class Hosts {
  /** One for each host. */
  readonly urls: readonly string[];
  /** The open connections. `replace` closes one before its next use, `leave` closes one to this host. */
  readonly connections = new Set<{ replace(): void; leave(url: string): void }>();
  private renewedAt = -Infinity;
  private readonly rejection: string | undefined;
  /** When a host did not respond, by performance.now(); Infinity for an old primary. */
  private readonly silentAt = new Map<string, number>();
  private finding: Promise<Found> | undefined;
  /** When a host was compared with the others, by performance.now(). */
  private readonly comparedAt = new Map<string, number>();

  constructor(url = '') {
    this.urls = hostUrls(url).map(withoutWarning);
    this.rejection = REJECTIONS[targetOf(url)];
  }

  /**
   * Finds the first suitable host. A client of node-postgres connects only once, so each try has its own; connections
   * that open at the same time share the tries.
   *
   * @returns its URL, and the client that was connected to it, closed
   */
  find(config: ClientConfig, limitMs: number): Promise<Found> {
    this.finding ??= this.search(config, limitMs).finally(() => (this.finding = undefined));
    return this.finding;
  }

  /** Throws if `target_session_attrs` rejects the session. */
  async requireSuitable(client: Client): Promise<void> {
    if (this.rejection === undefined) return;
    const { rows } = await client.query<{ rejected: boolean }>(this.rejection);
    if (rows[0]?.rejected) throw Object.assign(new Error('the server is read-only'), { code: READ_ONLY });
  }

  /** Has a host tried last for a while, because it did not respond. */
  setSilent(url: string): void {
    this.silentAt.set(url, Math.max(performance.now(), this.silentAt.get(url) ?? 0));
  }

  /** Replaces the open connections, because one has found its server gone or read-only. */
  renew(): void {
    const now = performance.now();
    if (now - this.renewedAt < RENEWAL_INTERVAL_MS) return;
    this.renewedAt = now;
    for (const each of this.connections) each.replace();
  }

  /** Leaves a host whose commits hang if another one was promoted since. @returns the timer of the statement */
  watch(url: string, config: ClientConfig): NodeJS.Timeout {
    return setInterval(() => {
      const now = performance.now();
      if (now - (this.comparedAt.get(url) ?? -Infinity) < RENEWAL_INTERVAL_MS) return;
      this.comparedAt.set(url, now);
      void this.leaveIfOld(url, config);
    }, PATIENCE_MS);
  }

  private async leaveIfOld(url: string, config: ClientConfig): Promise<void> {
    const own = await this.primaryAt(url, config);
    if (!own?.waits) return;
    const others = this.urls.filter((each) => each !== url);
    const found = await Promise.all(others.map((each) => this.primaryAt(each, config)));
    if (!found.some((each) => each !== undefined && each.timeline > own.timeline)) return;
    // Still tried, because it may become the primary again.
    this.silentAt.clear();
    this.silentAt.set(url, Infinity);
    for (const each of this.connections) each.leave(url);
  }

  /** Returns undefined for a host that is not suitable, a standby, and one that does not respond. */
  private primaryAt(url: string, config: ClientConfig): Promise<Primary | undefined> {
    const read = (client: Client) => client.query<Primary>(PRIMARY).then(({ rows }) => rows[0]);
    return this.try(url, config, PATIENCE_MS, read).catch(() => undefined);
  }

  private async search(config: ClientConfig, limitMs: number): Promise<Found> {
    const failures = new Map<string, unknown>();
    let leftMs = limitMs;
    for (let patienceMs = PATIENCE_MS; ; patienceMs *= 2) {
      const before = leftMs;
      for (const url of this.inOrder()) {
        const inMs = Math.min(patienceMs, leftMs);
        try {
          return { url, client: await this.try(url, config, inMs, (client) => client) };
        } catch (error) {
          failures.set(url, error);
          if (!SILENCE.test(messageOf(error))) continue;
          this.setSilent(url);
          leftMs -= inMs;
          if (leftMs <= 0) break;
        }
      }
      if (leftMs === before || leftMs <= 0) throw combine(failures);
    }
  }

  /** Returns the hosts in their order, then those that were silent lately, the latest one last. */
  private inOrder(): readonly string[] {
    const now = performance.now();
    const silentAt = (url: string): number => {
      const at = this.silentAt.get(url) ?? 0;
      return now - at < SILENT_LAST_MS ? at : 0;
    };
    return this.urls.toSorted((a, b) => silentAt(a) - silentAt(b));
  }

  private async try<T>(
    connectionString: string,
    config: ClientConfig,
    inMs: number,
    use: (client: Client) => T | Promise<T>,
  ): Promise<T> {
    const bounds = { connectionTimeoutMillis: inMs, query_timeout: inMs };
    const client = new Client({ ...config, ...bounds, connectionString, pipeline: false });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await this.requireSuitable(client);
      return await use(client);
    } finally {
      // Without a wait: the server may no longer respond.
      void client.end();
    }
  }
}

/** Names the host of a URL, without its user and password. */
export function hostOf(url: string): string {
  // `URL` rejects a user without a host, as in `//user@/shop?host=db`.
  const { host, searchParams } = new URL(url.replace('@/', '@localhost/'));
  return searchParams.get('host') ?? decodeURIComponent(host);
}

/** Returns the error that every host has caused, such as a wrong password, or one that names the hosts. */
function combine(failures: ReadonlyMap<string, unknown>): unknown {
  const [first, ...others] = failures.values();
  const isCommon = others.every((each) => messageOf(each) === messageOf(first));
  if (isCommon && codeOf(first) !== READ_ONLY) return first;
  return new Error([...failures].map(([url, error]) => `${hostOf(url)}: ${messageOf(error)}`).join('; '));
}

/** Returns the message, or the code of Node's error for a host with several addresses, which has none. */
function messageOf(error: unknown): string {
  return (error instanceof Error && error.message) || codeOf(error);
}

/** The driver verifies the server with each mode, and has a warning of eight lines for all but one. */
function withoutWarning(url: string): string {
  const isStrict = !/[?&]uselibpqcompat=true/.test(url);
  return isStrict ? url.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, '$1verify-full') : url;
}
