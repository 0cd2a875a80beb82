import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ApiDocument, readCommittedDocument } from '../../src/testing/api-document';
import type { HttpResponse, RequestOptions } from '../support/http';
import type { TestApp } from '../support/app';

/** The names of all tools: those of the operations of the document. */
export const TOOL_NAMES: readonly string[] = Object.values(
  new ApiDocument(readCommittedDocument()).object.paths,
).flatMap((item) =>
  Object.values(item as Record<string, any>).flatMap(({ operationId = [] }) => operationId),
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

/** A result of a tool, as a program reads it. */
export interface Called {
  readonly isError: boolean;
  /** The first text: the body as HTTP has it. */
  readonly body: string;
  /** The first text as JSON, rounded beyond 2^53. */
  readonly json: any;
  readonly texts: readonly string[];
  readonly meta: Readonly<Record<string, any>>;
}

export async function call(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<Called> {
  return readResult(await client.callTool({ name, arguments: args }));
}

export function readResult({ isError, content, _meta }: any): Called {
  const texts: string[] = content.map(({ text }: { readonly text: string }) => text);
  const [body = ''] = texts;
  return {
    isError: isError === true,
    body,
    get json() {
      return JSON.parse(body);
    },
    texts,
    meta: _meta ?? {},
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
