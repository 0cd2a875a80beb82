import type { Event } from './generated/types.js';
import type { CallOptions, Reply } from './options.js';
import { nextPage } from './paging.js';
import { sleep } from './retry.js';

/** An event of an extension: its `type` is not one of the document. */
export interface OwnEvent {
  readonly id: bigint;
  readonly type: string;
  readonly createdAt: string;
  readonly data: unknown;
}

/** The event that a test sends to a webhook. */
export interface TestEvent extends OwnEvent {
  readonly type: 'webhook.test';
  readonly data: { readonly id: bigint; readonly status: string };
}

/** An event for a webhook: `switch (event.type)` narrows `data`. */
export type WebhookEvent<Own extends OwnEvent = never> = Event | TestEvent | Own;

export interface EventOptions extends CallOptions {
  /** Where to continue: the `cursor` of an earlier feed. Then `from` has no effect. */
  readonly cursor?: string | undefined;
  /** The wait after a page without events, in milliseconds. Default 5,000. */
  readonly pauseMs?: number;
}

/** The events of the service without an end. Break the loop, or abort the signal. */
export interface EventFeed<T> extends AsyncIterable<T> {
  /** Save it: a feed from here loses no event, and repeats at most those of the page that the loop has not finished. */
  readonly cursor: string | undefined;
  /** Finds the position of `from: 'now'`, unless `cursor` is known, and returns the cursor. Read everything after it. */
  start(): Promise<string | undefined>;
}

/** Follows `Link: rel="next"` for ever. */
export function feedOf<T>(
  first: URL | undefined,
  { cursor, pauseMs = 5_000, signal }: EventOptions,
  send: (url: URL) => Promise<Reply<readonly T[]>>,
): EventFeed<T> {
  let current = cursor;
  const beginning = (): URL | undefined => {
    if (first === undefined || current === undefined) return first;
    const url = new URL(first);
    url.searchParams.delete('from');
    url.searchParams.set('cursor', current);
    return url;
  };
  async function start(): Promise<string | undefined> {
    if (first === undefined || current !== undefined) return current;
    const { data, headers } = await send(first);
    // The events of a page are read again by the iteration.
    if (data.length === 0) current = cursorIn(nextPage(first, headers));
    return current;
  }
  async function* follow(): AsyncGenerator<T> {
    let url = beginning();
    while (url !== undefined) {
      const { data, headers }: Reply<readonly T[]> = await send(url);
      yield* data;
      url = nextPage(url, headers);
      current = cursorIn(url) ?? current;
      if (data.length === 0) await sleep(pauseMs, signal);
    }
  }
  return {
    get cursor() {
      return current;
    },
    start,
    [Symbol.asyncIterator]: follow,
  };
}

function cursorIn(url: URL | undefined): string | undefined {
  return url?.searchParams.get('cursor') ?? undefined;
}
