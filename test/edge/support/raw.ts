import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { TestApp } from '../../support/app';

/** The longest wait for a response or for the end of a connection; only a hanging service reaches it. */
const MAX_WAIT_MS = 60_000;

/** A response as it arrived at the socket. */
export interface RawResponse {
  readonly status: number;
  /** By name in lower case; the values of a repeated name are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** A TCP connection on which a spec writes arbitrary bytes. */
export class RawConnection {
  private received = Buffer.alloc(0);
  private state: 'open' | 'closed' | 'reset' = 'open';
  private wake: () => void = () => undefined;

  private constructor(readonly socket: Socket) {
    socket.on('data', (chunk) => {
      this.received = Buffer.concat([this.received, chunk]);
      this.wake();
    });
    socket.on('end', () => this.become('closed'));
    socket.on('error', () => this.become('reset'));
    socket.on('close', () => this.become('closed'));
  }

  static open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new RawConnection(socket));
      });
    });
  }

  write(bytes: string | Buffer): void {
    this.socket.write(bytes);
  }

  /** Returns the next response; undefined if the connection ends first. */
  async response(): Promise<RawResponse | undefined> {
    const deadline = Date.now() + MAX_WAIT_MS;
    for (;;) {
      const parsed = parseResponse(this.received);
      if (parsed) {
        this.received = this.received.subarray(parsed.bytes);
        return parsed.response;
      }
      if (this.state !== 'open' || !(await this.change(deadline))) return undefined;
    }
  }

  /** Waits for the end of the connection; returns how it ended (`open` if it did not) and the bytes before. */
  async end(): Promise<{ state: 'open' | 'closed' | 'reset'; rest: string }> {
    const deadline = Date.now() + MAX_WAIT_MS;
    while (this.state === 'open' && (await this.change(deadline))) continue;
    return { state: this.state, rest: this.received.toString('latin1') };
  }

  destroy(): void {
    this.socket.destroy();
  }

  private become(state: 'closed' | 'reset'): void {
    if (this.state === 'open') this.state = state;
    this.wake();
  }

  /** Waits for bytes or a change of state; returns false after the deadline. */
  private change(deadline: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), Math.max(0, deadline - Date.now()));
      this.wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}

/** Returns the first whole response to another method than HEAD; interim responses (1xx) count, too. */
function parseResponse(bytes: Buffer): { response: RawResponse; bytes: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [start = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(start)?.[1]);
  if (!status) throw new Error(`not a response: ${start.slice(0, 80)}`);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:\s]+): ?(.*)$/.exec(line) ?? [];
    const key = name.toLowerCase();
    headers[key] = headers[key] === undefined ? value : `${headers[key]}, ${value}`;
  }
  const hasBody = status >= 200 && status !== 204 && status !== 304;
  const length = hasBody ? Number(headers['content-length'] ?? 0) : 0;
  const stop = end + 4 + length;
  if (bytes.length < stop) return undefined;
  return { response: { status, headers, text: bytes.subarray(end + 4, stop).toString() }, bytes: stop };
}

/**
 * Lets the time of all requests run out that have not arrived whole. So the machine may be slow before that.
 *
 * @returns gives later requests their time again
 */
export function runOut({ nest }: Pick<TestApp, 'nest'>): () => void {
  const server: Server = nest.getHttpServer();
  const { headersTimeout, requestTimeout } = server;
  Object.assign(server, { headersTimeout: 1, requestTimeout: 1 });
  return () => void Object.assign(server, { headersTimeout, requestTimeout });
}
