import { Agent, type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { jsonOf } from './json';

/** A request of a test. */
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

/** Far more than any response of this API has. */
const MAX_BODY_BYTES = 4 * 1_048_576;
const MAX_RESPONSE_MS = 30_000;

/** Sends requests over real sockets, with the path as it is written. Follows no redirect. */
export class HttpClient {
  constructor(private readonly agent: Agent = new Agent({ keepAlive: true })) {}

  /**
   * @param origin `http://127.0.0.1:3000`
   * @throws Error if no complete response of at most 4 MiB arrives within 30 s
   */
  send(
    origin: string,
    path: string,
    { method = 'GET', key, body, headers = {} }: TestRequest = {},
  ): Promise<TestResponse> {
    const { protocol, hostname, port } = new URL(origin);
    const isSecure = protocol === 'https:';
    const options = {
      ...(isSecure ? {} : { agent: this.agent }),
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port,
      method,
      path,
      signal: AbortSignal.timeout(MAX_RESPONSE_MS),
    };
    const isWritten = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
    const bytes = isWritten ? body : jsonOf(body);
    return new Promise((resolve, reject) => {
      const outgoing = (isSecure ? httpsRequest : httpRequest)(options, (incoming) =>
        resolve(responseOf(incoming)),
      );
      outgoing.on('error', reject);
      if (key !== undefined) outgoing.setHeader('authorization', `Bearer ${key}`);
      if (bytes !== undefined && !('transfer-encoding' in headers)) {
        outgoing.setHeader('content-type', 'application/json');
        outgoing.setHeader('content-length', Buffer.byteLength(bytes));
      }
      for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value);
      outgoing.end(bytes);
    });
  }

  /** Closes the idle connections. */
  close(): void {
    this.agent.destroy();
  }
}

async function responseOf(incoming: IncomingMessage): Promise<TestResponse> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_BODY_BYTES) throw new Error('the body has more than 4 MiB');
  }
  const text = Buffer.concat(chunks).toString();
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    text,
    get json(): unknown {
      return JSON.parse(text);
    },
  };
}
