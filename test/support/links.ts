import type { TestApp } from './app';
import type { HttpResponse } from './http';

/** Returns the targets of a `Link` header by their relation. */
export function linksOf({ headers }: HttpResponse): Record<string, string> {
  const links: Record<string, string> = {};
  for (const [, target, relation] of String(headers['link'] ?? '').matchAll(/<([^>]*)>; rel="([^"]*)"/g)) {
    links[relation!] = target!;
  }
  return links;
}

/** Returns the ids of a page. */
export const idsOf = ({ json }: HttpResponse): number[] => json.map(({ id }: { id: number }) => id);

/** Follows `next` from a path to the last page. @returns the ids of all pages */
export async function followPages(app: TestApp, key: string, path: string): Promise<number[]> {
  const seen: number[] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const response = await app.get(next, { key });
    expect(response.status).toBe(200);
    seen.push(...idsOf(response));
    next = linksOf(response)['next'];
  }
  return seen;
}
