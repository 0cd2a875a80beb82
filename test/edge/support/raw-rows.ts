import type { Config } from '../../../src/config/config';
import { startApp, type TestApp } from '../../support/app';
import { type RawAnswer, RawConnection } from './raw';

/** What is sent on one connection, what must come back, in this order, and what becomes of the connection. */
export type Row = readonly [
  what: string,
  bytes: string | Buffer,
  /** Each the status and, of an error, the code. */
  answers: string | readonly string[],
  connection: 'open' | 'closed',
];

/** Stands for the key in the bytes of a row. */
const KEY = 'KEY';

export const HOST = 'Host: x\r\n';
export const AUTH = `${HOST}Authorization: Bearer ${KEY}\r\n`;
export const JSON_TYPE = 'Content-Type: application/json\r\n';
export const PET = '{"name":"Rex","categoryId":3}';

/** A request with the key, whose target and further headers are as given. */
export function get(target = '/v1/pets', headers = ''): string {
  return `GET ${target} HTTP/1.1\r\n${AUTH}${headers}\r\n`;
}

/** createPet with the key; a Content-Type among the headers takes the place of the usual one. */
export function post(body: string | Buffer, headers = JSON_TYPE): Buffer {
  const head = `POST /v1/pets HTTP/1.1\r\n${AUTH}${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}

/** createPet whose chunks stand as given. */
export function chunked(chunks: string, headers = JSON_TYPE): string {
  return `POST /v1/pets HTTP/1.1\r\n${AUTH}${headers}Transfer-Encoding: chunked\r\n\r\n${chunks}`;
}

/** A body as one chunk. */
export function chunk(body: string): string {
  return `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n`;
}

/** A running service that rows are sent to, with a key that no limit stops. */
export class RowRunner {
  /** How many answers said that something was stored. */
  created = 0;

  private constructor(
    readonly app: TestApp,
    private readonly key: string,
  ) {}

  static async start(settings: Partial<Config> = {}): Promise<RowRunner> {
    const app = await startApp({ rateLimitAnonymousPerMinute: 1e6, ...settings });
    const choice = { plan: 'enterprise', perMinute: 1e6, perDay: 1e6 } as const;
    return new RowRunner(app, (await app.createKey({ choice })).key);
  }

  async run([, bytes, answers, connection]: Row): Promise<void> {
    const text = Buffer.from(bytes).toString('latin1').replaceAll(KEY, this.key);
    const raw = await RawConnection.open(this.app.url);
    raw.write(Buffer.from(text, 'latin1'));
    for (const expected of [answers].flat()) {
      this.expectAnswer(await raw.answer(text.startsWith('HEAD ')), expected);
    }
    if (connection === 'open') {
      raw.write(`GET /livez HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`);
      this.expectAnswer(await raw.answer(), '200');
    }
    const end = await raw.end();
    raw.destroy();
    expect(end).toEqual({ state: 'closed', rest: '' });
  }

  private expectAnswer(answer: RawAnswer | undefined, expected: string): void {
    const [status = '', code] = expected.split(' ');
    expect({ status: answer?.status, text: answer?.text }).toEqual({
      status: Number(status),
      text: expect.any(String),
    });
    if (answer!.status < 200) return;
    if (answer!.status === 201) this.created += 1;
    expectCommonHeaders(answer!);
    if (code !== undefined && answer!.text !== '') expectErrorBody(answer!, code);
  }
}

/** What every answer has, whoever gave it. */
export function expectCommonHeaders({ headers }: RawAnswer): void {
  expect(headers).toMatchObject({
    'x-request-id': expect.stringMatching(/^[A-Za-z0-9._-]{1,128}$/),
    'x-content-type-options': 'nosniff',
    'x-ratelimit-limit': expect.stringMatching(/^\d+$/),
    'x-ratelimit-remaining': expect.stringMatching(/^\d+$/),
    'x-ratelimit-reset': expect.stringMatching(/^\d+$/),
    ratelimit: expect.stringMatching(/^"minute";r=\d+;t=\d+/),
    'ratelimit-policy': expect.stringMatching(/^"minute";q=\d+;w=60/),
  });
  expect(headers['server']).toBeUndefined();
  expect(headers['x-powered-by']).toBeUndefined();
}

export function expectErrorBody({ status, headers, text }: RawAnswer, code: string): void {
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
  expect(JSON.parse(text)).toEqual({ code, message: expect.stringMatching(/\.$/), status });
  expect(text).not.toMatch(/node_modules|\.(?:ts|js)\b|HPE_|lossless|fastify|SELECT /i);
  if (status === 405) expect(headers['allow']).toMatch(/^[A-Z]+(?:, [A-Z]+)*$/);
}
