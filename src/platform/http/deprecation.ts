/** The deprecation of an operation: since when, until when, and its successor. */
export interface Deprecation {
  /** RFC 9745. */
  readonly since: Date;
  /** When the operation will be removed (RFC 8594). */
  readonly sunset: Date;
  /** The successor, relative to the base URL: `/pets?status=available`. */
  readonly successor: string;
}

/** Returns `Deprecation`, `Sunset` and the `Link` to the successor (RFC 9745, RFC 8594, RFC 5829). */
export function deprecationHeaders(
  { since, sunset, successor }: Deprecation,
  baseUrl: string,
): Readonly<Record<string, string>> {
  return {
    Deprecation: `@${since.getTime() / 1000}`,
    Sunset: sunset.toUTCString(),
    Link: `<${baseUrl}${successor}>; rel="successor-version"`,
  };
}
