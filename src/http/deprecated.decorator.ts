import { applyDecorators } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import { type Deprecation, routeFacts } from './route-facts';

/** Marks an operation as deprecated: in the document, and in the headers of all its responses. */
export function Deprecated(deprecation: Deprecation): MethodDecorator {
  return applyDecorators(routeFacts({ deprecation }), ApiOperation({ deprecated: true }));
}

/** `Deprecation`, `Sunset` and the `Link` to the successor (RFC 9745, RFC 8594, RFC 5829). */
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
