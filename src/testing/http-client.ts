import { type Agent, type IncomingHttpHeaders, type IncomingMessage, request as http } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { jsonOf } from './json';

export interface TestRequest {
  /** Default GET. */
  readonly method?: string;
  /** The bearer key; left out, the request has none. */
  readonly key?: string | undefined;
  /** A text or bytes are sent as they are. Any other value is sent as JSON; a bigint becomes an exact integer. */
  readonly body?: unknown;
  /** A list sends the header several times. `transfer-encoding: chunked` sends the body in one chunk. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

export interface TestResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON.parse reads it. It throws if the body is not JSON. */
  // A test knows the type of the body.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any;
}

/**
 * Sends a request over a real socket, with the path as it is written. Follows no redirect.
 *
 * @param origin `http://127.0.0.1:3000`
 * @throws Error if no complete response arrives within two minutes: a guard against hanging, because the machine may be busy
 */
export function sendRequest(
  origin: string,
  path: string,
  { method = 'GET', key, body, headers = {} }: TestRequest = {},
  agent?: Agent,
): Promise<TestResponse> {
  const isWritten = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
  const bytes = isWritten ? body : jsonOf(body);
  const signal = AbortSignal.timeout(120_000);
  return new Promise((resolve, reject) => {
    const outgoing = http(origin, { method, path, agent, signal });
    outgoing.on('error', reject).on('response', (incoming) => resolve(responseOf(incoming)));
    if (key !== undefined) outgoing.setHeader('authorization', `Bearer ${key}`);
    if (bytes !== undefined && !('transfer-encoding' in headers)) {
      outgoing.setHeader('content-type', 'application/json');
      outgoing.setHeader('content-length', Buffer.byteLength(bytes));
    }
    for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value);
    outgoing.end(bytes);
  });
}

async function responseOf(incoming: IncomingMessage): Promise<TestResponse> {
  const text = await textOf(incoming);
  const { statusCode: status = 0, headers } = incoming;
  return {
    status,
    headers,
    text,
    get json(): unknown {
      return JSON.parse(text);
    },
  };
}
