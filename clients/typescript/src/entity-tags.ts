/** The entity tags of the objects that the client has returned. */
const tags = new WeakMap<object, string>();

/** Returns the `ETag` of an animal, an order or a page as this client returned it, for `ifMatch`. */
export function etagOf(value: object): string | undefined {
  return tags.get(value);
}

export function rememberEtag(value: unknown, etag: string | undefined): void {
  if (typeof value === 'object' && value !== null && etag !== undefined) tags.set(value, etag);
}

export interface CachedBody {
  readonly etag: string;
  readonly text: string;
}

/** The bodies that were used last, by their address. The service says each time whether one is current. */
export class BodyCache {
  private readonly bodies = new Map<string, CachedBody>();

  constructor(private readonly maxBodies: number) {}

  get(url: string): CachedBody | undefined {
    const body = this.bodies.get(url);
    if (body !== undefined) this.set(url, body);
    return body;
  }

  set(url: string, body: CachedBody): void {
    this.bodies.delete(url);
    this.bodies.set(url, body);
    const [oldest] = this.bodies.keys();
    if (this.bodies.size > this.maxBodies && oldest !== undefined) this.bodies.delete(oldest);
  }
}
