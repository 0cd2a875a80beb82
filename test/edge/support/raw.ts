import { connect, type Socket } from 'node:net';

/** Longest wait for an answer or for the end of a connection; a guard against hanging. */
const PATIENCE_MS = 10_000;

/** One answer as it came over the socket. */
export interface RawAnswer {
  readonly status: number;
  /** By name in lower case; of several of one name, all values joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** A TCP connection on which a spec writes whatever bytes it likes; nothing is repaired on the way. */
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

  /** The next answer; undefined where the connection ends instead. */
  async answer(isHead = false): Promise<RawAnswer | undefined> {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const parsed = parseAnswer(this.received, isHead);
      if (parsed) {
        this.received = this.received.subarray(parsed.bytes);
        return parsed.answer;
      }
      if (this.state !== 'open' || !(await this.change(deadline))) return undefined;
    }
  }

  /** How the server ended the connection, and whatever came before that; `open` where it did not. */
  async end(): Promise<{ state: 'open' | 'closed' | 'reset'; rest: string }> {
    const deadline = Date.now() + PATIENCE_MS;
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

  /** False when nothing has happened until the deadline. */
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

/** The first whole answer in the bytes; interim ones (1xx) are answers too. */
function parseAnswer(bytes: Buffer, isHead: boolean): { answer: RawAnswer; bytes: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [start = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(start)?.[1]);
  if (!status) throw new Error(`this is no answer: ${start.slice(0, 80)}`);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:\s]+): ?(.*)$/.exec(line) ?? [];
    const key = name.toLowerCase();
    headers[key] = headers[key] === undefined ? value : `${headers[key]}, ${value}`;
  }
  const hasBody = !isHead && status >= 200 && status !== 204;
  const length = hasBody ? Number(headers['content-length'] ?? 0) : 0;
  const stop = end + 4 + length;
  if (bytes.length < stop) return undefined;
  return { answer: { status, headers, text: bytes.subarray(end + 4, stop).toString() }, bytes: stop };
}
