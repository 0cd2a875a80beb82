import { Agent, type IncomingHttpHeaders, request as httpRequest } from 'node:http';
import { stringify } from 'lossless-json';

/** A request of a test. */
export interface TestRequest {
  /** Default GET. */
  readonly method?: string;
  /** The bearer key; left out, the request has none. */
  readonly key?: string | undefined;
  /** A text is sent as it is. Any other value is sent as JSON; a bigint becomes an exact integer. */
  readonly body?: unknown;
  /** A list sends the header several times. */
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

/** Sends requests over real sockets, with the path as it is written. */
export class HttpClient {
  private readonly agent = new Agent({ keepAlive: true });

  constructor(private readonly baseUrl: string) {}

  send(path: string, { method = 'GET', key, body, headers = {} }: TestRequest = {}): Promise<TestResponse> {
    const { hostname, port } = new URL(this.baseUrl);
    const text = body === undefined ? undefined : textOf(body);
    const sent = {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(text === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, copied(value)])),
    };
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest(
        { agent: this.agent, hostname, port, method, path, headers: sent },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.on('error', reject);
          incoming.on('end', () =>
            resolve(responseOf(incoming.statusCode ?? 0, incoming.headers, Buffer.concat(chunks).toString())),
          );
        },
      );
      outgoing.on('error', reject);
      outgoing.end(text);
    });
  }

  /** Closes the idle connections. */
  close(): void {
    this.agent.destroy();
  }
}

function responseOf(status: number, headers: IncomingHttpHeaders, text: string): TestResponse {
  return {
    status,
    headers,
    text,
    get json(): unknown {
      return JSON.parse(text);
    },
  };
}

function textOf(body: unknown): string {
  return typeof body === 'string' ? body : (stringify(body) ?? '');
}

function copied(value: string | readonly string[]): string | string[] {
  return typeof value === 'string' ? value : [...value];
}
