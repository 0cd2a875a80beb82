import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { once as query } from '../../support/once';
import { send } from '../../support/http';
import { linksOf } from '../../support/links';
import { until } from '../../support/until';

const FIRST = '/v1/events';
const RETRY_AFTER_MS = 50;
const MAX_PAGE = 100;

export interface FeedEvent {
  readonly id: number;
  readonly type: string;
  readonly data: { readonly id: number; readonly status: string };
}

/** A reader of the feed that continues after its last page, also after failures. */
export class FeedReader {
  readonly events: FeedEvent[] = [];
  private path = `${FIRST}?limit=1`;

  /** @param url of any instance; each request may have another one */
  constructor(
    private readonly url: () => string,
    private readonly key: string,
  ) {}

  /** Reads a page of a random size. @returns its events, or undefined if the service is unavailable */
  async read(): Promise<readonly FeedEvent[] | undefined> {
    const size = 1 + Math.floor(Math.random() * MAX_PAGE);
    const path = this.path.replace(/limit=\d+/, `limit=${size}`);
    // A new connection: a killed service has closed the earlier ones.
    const options = { key: this.key, agent: new Agent() };
    const response = await send(this.url(), 'GET', path, options).catch(lostConnection);
    if (response?.status !== 200) {
      if (response && response.status !== 503) throw new Error(`no page: ${response.text}`);
      return undefined;
    }
    const page: readonly FeedEvent[] = response.json;
    this.events.push(...page);
    this.path = linksOf(response)['next']!;
    return page;
  }

  /** Reads until a page is empty. @returns the events */
  async readAll(): Promise<readonly FeedEvent[]> {
    const count = this.events.length;
    for (;;) {
      const page = await this.read();
      if (page?.length === 0) return this.events.slice(count);
      if (!page) await sleep(RETRY_AFTER_MS);
    }
  }

  /** Reads until it is stopped, then to the last event. */
  async follow(ended: AbortSignal): Promise<void> {
    while (!ended.aborted) if (!(await this.read())) await sleep(RETRY_AFTER_MS);
    await this.readAll();
  }
}

/** Handles a lost connection. @throws the error if it is one of the response */
export function lostConnection(error: NodeJS.ErrnoException): undefined {
  if (error.code === undefined) throw error;
}

/** The tables as the events of the feed leave them. */
export class RebuiltTables {
  /** Both tables in one map: `pet 7`, `order 7`. */
  private readonly rows = new Map<string, FeedEvent['data']>();
  private lastId = 0;

  /** @throws Error if an event does not follow from those before it, or changes nothing */
  apply(events: readonly FeedEvent[]): void {
    for (const event of events) {
      const { id, type, data } = event;
      const [kind = '', what = ''] = type.split('.');
      const name = `${kind} ${data.id}`;
      const before = this.rows.get(name);
      const isNew = what === 'created' || what === 'placed';
      const isSame = JSON.stringify(before) === JSON.stringify(data);
      const isExplained = isNew === (before === undefined) && isSame === (what === 'deleted');
      const isNamed = kind === 'pet' || what === data.status;
      if (!isExplained || !isNamed || id <= this.lastId)
        throw new Error(`${JSON.stringify(event)} does not follow from ${JSON.stringify(before)}`);
      this.lastId = id;
      if (what === 'deleted') this.rows.delete(name);
      else this.rows.set(name, data);
    }
  }

  get lines(): readonly string[] {
    return linesOf(this.rows);
  }
}

/** Reads both tables in the form of `RebuiltTables`. */
export async function tablesOf(url: string): Promise<readonly string[]> {
  const pets = await query(url, 'SELECT * FROM pets');
  const orders = await query(
    url,
    'SELECT name AS account, store_orders.* FROM store_orders JOIN accounts ON accounts.id = account_id',
  );
  const named = (kind: string, rows: readonly Record<string, unknown>[]) =>
    rows.map((row) => [`${kind} ${String(row['id'])}`, membersOf(row)] as const);
  return linesOf([...named('pet', pets), ...named('order', orders)]);
}

/** Returns the members of a response for a row: its columns but `account_id`, with the names and forms of JSON. */
function membersOf({ account_id: _accountId, ...row }: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column.replaceAll(/_(.)/g, (_text, letter: string) => letter.toUpperCase()),
      /(^|_)id$/.test(column) ? Number(value) : value,
    ]),
  );
}

function linesOf(rows: Iterable<readonly [name: string, data: object]>): readonly string[] {
  const sorted = (data: object) => Object.entries(data).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return [...rows].map(([name, data]) => `${name} ${JSON.stringify(sorted(data))}`).toSorted();
}

/** Waits until no transaction can still write an event before the newest one. */
export async function settle(url: string): Promise<void> {
  const text =
    'SELECT coalesce(max(id) < event_id_of(pg_snapshot_xmin(pg_current_snapshot())), true) AS settled FROM events';
  // The server may have just started.
  await until(
    async () => (await query<{ settled: boolean }>(url, text).catch(() => []))[0]?.settled === true,
  );
}
