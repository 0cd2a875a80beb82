/** The deprecation of an operation: since when, until when, and its successor. */
export interface Deprecation {
  /** RFC 9745. */
  readonly since: Date;
  /** When the operation will be removed (RFC 8594). */
  readonly sunset: Date;
  /** Returns the successor of a request, relative to the base URL: `/pets?id=1`. */
  readonly successorOf: (params: PathParams) => string;
}

/** The parameters of a path as they were sent. */
export type PathParams = Readonly<Record<string, string>>;

/** Returns `Deprecation`, `Sunset` and the `Link` to the successor (RFC 9745, RFC 8594, RFC 5829). */
export function deprecationHeaders(
  { since, sunset, successorOf }: Deprecation,
  baseUrl: string,
  params: PathParams,
): Readonly<Record<string, string>> {
  return {
    Deprecation: `@${since.getTime() / 1000}`,
    Sunset: sunset.toUTCString(),
    Link: `<${baseUrl}${successorOf(params)}>; rel="successor-version"`,
  };
}
