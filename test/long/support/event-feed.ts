import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { once as query } from '../../support/once';
import { send } from '../../support/http';
import { linksOf } from '../../support/links';
import { until } from '../../support/until';

const FIRST = '/v1/events';
const RETRY_AFTER_MS = 50;
const MAX_PAGE = 100;

interface FeedEvent {
  readonly id: number;
  readonly data: { readonly name?: string };
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

/** Waits until no transaction can still write an event before the newest one. */
export async function settle(url: string): Promise<void> {
  const text =
    'SELECT coalesce(max(id) < event_id_of(pg_snapshot_xmin(pg_current_snapshot())), true) AS settled FROM events';
  // The server may have just started.
  await until(
    async () => (await query<{ settled: boolean }>(url, text).catch(() => []))[0]?.settled === true,
  );
}
