import type { Server } from '@modelcontextprotocol/server';
import type { Sdk } from './sdk';

/**
 * Passes messages to a server of their revision, which exists for this request only. The response is JSON: no message is
 * sent before the result, so a stream of events would only be harder to read.
 *
 * @param request its headers are used
 * @param body one message or several, already parsed
 */
export async function dispatch(
  sdk: Sdk,
  create: () => Server,
  request: Request,
  body: unknown,
): Promise<Response> {
  const options = { parsedBody: body };
  if (!(await sdk.isLegacyRequest(request, body))) {
    return sdk.createMcpHandler(create, { legacy: 'reject', maxSubscriptions: 0 }).fetch(request, options);
  }
  const transport = new sdk.WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await create().connect(transport);
  return transport.handleRequest(request, options);
}
