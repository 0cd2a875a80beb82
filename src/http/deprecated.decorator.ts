import { applyDecorators } from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';
import { type Deprecation, routeFacts } from './route-facts';

/** Says in the OpenAPI document when an operation is removed; an operation that has it is deprecated. */
export const SUNSET_EXTENSION = 'x-sunset';

/** Marks an operation as deprecated: in the document, and in the headers of all its responses. */
export function Deprecated(deprecation: Deprecation): MethodDecorator {
  const [day = ''] = deprecation.sunset.toISOString().split('T', 1);
  return applyDecorators(routeFacts({ deprecation }), ApiExtension(SUNSET_EXTENSION, day));
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
