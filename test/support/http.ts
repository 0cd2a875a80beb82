import { Agent, type IncomingHttpHeaders, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { rejectUndocumented, rejectUndocumentedRaw } from './conformance';

const sharedAgent = new Agent({ keepAlive: true });

export interface RequestOptions {
  /** Bearer key; undefined sends none. */
  readonly key?: string | undefined;
  readonly headers?: Record<string, string | string[]>;
  /** A string or Buffer is sent unchanged, an object as JSON. */
  readonly body?: string | Buffer | object | undefined;
  /** A body without Content-Length and Content-Type. */
  readonly chunked?: string | Buffer;
  readonly agent?: Agent;
  /** False if the response does not come from the complete service on its own port. */
  readonly isDocumented?: boolean;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON.parse reads it. */
  readonly json: any;
}

/**
 * Sends one request over a real socket, with the path exactly as given. Throws if openapi.json does not document the
 * response.
 */
export function send(
  baseUrl: string,
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<HttpResponse> {
  const { hostname, port } = new URL(baseUrl);
  const headers: Record<string, string | string[]> = {};
  const body = bytesOf(options.body);
  if (options.key !== undefined) headers['authorization'] = `Bearer ${options.key}`;
  if (body !== undefined) {
    headers['content-type'] = 'application/json';
    headers['content-length'] = String(body.length);
  }
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      {
        agent: options.agent ?? sharedAgent,
        hostname,
        port,
        method,
        path,
        headers: { ...headers, ...options.headers },
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const response = {
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            text,
            get json() {
              return JSON.parse(text) as unknown;
            },
          };
          try {
            const accept = options.headers?.['accept']?.toString();
            if (options.isDocumented !== false) rejectUndocumented(method, path, response, accept);
            resolve(response);
          } catch (error) {
            reject(error);
          }
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body ?? options.chunked);
  });
}

/**
 * Sends these bytes and returns everything that the service writes to the socket. Throws if openapi.json does not
 * document the first response.
 */
export function sendRaw(baseUrl: string, bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(bytes));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString();
      try {
        rejectUndocumentedRaw(bytes.toString('latin1'), text);
        resolve(text);
      } catch (error) {
        reject(error);
      }
    });
  });
}

function bytesOf(body: RequestOptions['body']): Buffer | undefined {
  if (body === undefined || Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}
