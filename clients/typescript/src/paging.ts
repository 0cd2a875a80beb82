import type { Reply } from './options.js';

/** A list of the service. Iterate over its items, or over its pages. Each iteration begins with the first page. */
export interface List<T> extends AsyncIterable<T> {
  pages(): AsyncIterable<readonly T[]>;
  /** Reads all pages and keeps their items in memory. */
  toArray(): Promise<T[]>;
}

/** Reads a list by following `Link: rel="next"`. The request for a page is sent when the iteration needs it. */
export function listOf<T>(first: URL | undefined, send: (url: URL) => Promise<Reply<readonly T[]>>): List<T> {
  async function* pages(): AsyncGenerator<readonly T[]> {
    for (let url = first; url !== undefined;) {
      const { data, headers }: Reply<readonly T[]> = await send(url);
      yield data;
      // The events have a next page for ever.
      url = data.length > 0 ? nextPage(url, headers) : undefined;
    }
  }
  async function* items(): AsyncGenerator<T> {
    for await (const page of pages()) yield* page;
  }
  async function toArray(): Promise<T[]> {
    const all: T[] = [];
    for await (const item of items()) all.push(item);
    return all;
  }
  return { pages, toArray, [Symbol.asyncIterator]: items };
}

/**
 * Finds `rel="next"` in `Link` (RFC 8288).
 *
 * @throws Error if it has another origin, which would get the key
 */
export function nextPage(url: URL, headers: Headers): URL | undefined {
  const links = (headers.get('link') ?? '').matchAll(/<([^>]*)>([^<]*)/g);
  for (const [, target = '', parameters = ''] of links) {
    const [, relations = ''] = /;\s*rel="?([^";,]*)/i.exec(parameters) ?? [];
    if (!relations.split(/\s+/).includes('next')) continue;
    const next = new URL(target, url);
    if (next.origin === url.origin) return next;
    throw new Error(
      `The next page is at ${next.origin}, but the key is for ${url.origin}. Set baseUrl to the address that the service has in PUBLIC_BASE_URL.`,
    );
  }
  return undefined;
}
