import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ApiDocument } from '../../src/testing/api-document';
import type { HttpResponse, RequestOptions } from '../support/http';
import type { TestApp } from '../support/app';
import { readCommittedDocument } from '../support/committed-document';

/** The operations of the document, each a tool. A key needs one of `scopes`, or any. */
export const OPERATIONS: readonly { name: string; scopes: string[]; description: string }[] = Object.values(
  new ApiDocument(readCommittedDocument()).object.paths,
).flatMap((item) =>
  Object.values(item as Record<string, any>)
    .filter(({ operationId }) => operationId !== undefined)
    .map(({ operationId: name, 'x-required-scopes': scopes, description }) => ({
      name,
      scopes,
      description,
    })),
);

const INFO = { name: 'test agent', version: '1.0.0' };

/** Connects the official client with this key. */
export async function connectAgent(
  { url }: Pick<TestApp, 'url'>,
  key: string,
  options: ClientOptions = {},
): Promise<Client> {
  const client = new Client(INFO, options);
  const headers = { authorization: `Bearer ${key}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }),
  );
  return client;
}

export async function call(client: Client, name: string, args: Record<string, unknown> = {}) {
  return readResult(await client.callTool({ name, arguments: args }));
}

/** Reads the result of a tool as a program does: the first text is the body as HTTP has it. */
export function readResult({ isError, content, _meta }: any) {
  const texts: string[] = content.map(({ text }: { readonly text: string }) => text);
  const [body = ''] = texts;
  const meta: Readonly<Record<string, any>> = _meta ?? {};
  return {
    isError: isError === true,
    body,
    /** The body, rounded beyond 2^53. */
    get json(): any {
      return JSON.parse(body);
    },
    texts,
    meta,
  };
}

/** The headers that Streamable HTTP requires. */
const HEADERS = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' };

/** Sends one message, or several, as a body of our own. */
export function post(
  app: TestApp,
  body: string | object,
  options: RequestOptions = {},
): Promise<HttpResponse> {
  return app.post('/mcp', body, { ...options, headers: { ...HEADERS, ...options.headers } });
}

/** Returns the messages of a response. */
export function messagesIn({ text }: HttpResponse): any[] {
  return text === '' ? [] : [JSON.parse(text)].flat();
}

export function request(id: unknown, method: string, params?: object): object {
  return { jsonrpc: '2.0', id, method, ...(params && { params }) };
}

export function toolCall(id: unknown, name: string, args: object = {}): object {
  return request(id, 'tools/call', { name, arguments: args });
}

export const INITIALIZE = request(0, 'initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: INFO,
});
