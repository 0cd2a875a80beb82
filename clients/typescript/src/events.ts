import type { CallOptions, Reply } from './options.js';
import { nextPage } from './paging.js';
import { sleep } from './retry.js';

export interface EventOptions extends CallOptions {
  /** Where to begin: the `cursor` of an earlier feed. Default: the oldest event that the service keeps. */
  readonly cursor?: string | undefined;
  /** The wait after a page without events, in milliseconds. Default 5,000. */
  readonly pauseMs?: number;
}

/** The events of the service without an end. Break the loop, or abort the signal. */
export interface EventFeed<T> extends AsyncIterable<T> {
  /** Save it: a feed from here loses no event, and repeats at most those of the page that the loop has not finished. */
  readonly cursor: string | undefined;
}

/** Follows `Link: rel="next"` for ever. */
export function feedOf<T>(
  first: URL | undefined,
  { cursor, pauseMs = 5_000, signal }: EventOptions,
  send: (url: URL) => Promise<Reply<readonly T[]>>,
): EventFeed<T> {
  let current = cursor;
  async function* follow(): AsyncGenerator<T> {
    let url = first;
    if (current !== undefined) url?.searchParams.set('cursor', current);
    while (url !== undefined) {
      const { data, headers }: Reply<readonly T[]> = await send(url);
      yield* data;
      url = nextPage(url, headers);
      current = url?.searchParams.get('cursor') ?? current;
      if (data.length === 0) await sleep(pauseMs, signal);
    }
  }
  return {
    get cursor() {
      return current;
    },
    [Symbol.asyncIterator]: follow,
  };
}
