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
