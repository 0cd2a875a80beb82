import type { RawResponse } from './raw';

/** The bytes for one connection, the expected responses in their order, and the expected state of the connection. */
export type Row = readonly [
  title: string,
  bytes: string | Buffer,
  /** For each response the status and, for an error, the code. */
  responses: string | readonly string[],
  connection: 'open' | 'closed',
];

/** The placeholder of the key in the bytes of a row. */
export const KEY = 'KEY';

export const HOST = 'Host: x\r\n';
export const AUTH = `${HOST}Authorization: Bearer ${KEY}\r\n`;
export const JSON_TYPE = 'Content-Type: application/json\r\n';
/** An origin that CORS_ORIGINS names. */
export const ORIGIN = 'https://shop.example';
export const PET = '{"name":"Rex","categoryId":3}';

/** A GET request with the key. */
export function get(target = '/v1/pets', headers = ''): string {
  return `GET ${target} HTTP/1.1\r\n${AUTH}${headers}\r\n`;
}

/** createPet with the key; `headers` replace the usual Content-Type. */
export function post(body: string | Buffer, headers = JSON_TYPE): Buffer {
  const head = `POST /v1/pets HTTP/1.1\r\n${AUTH}${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}

/** createPet with these chunks. */
export function chunked(chunks: string, headers = JSON_TYPE): string {
  return `POST /v1/pets HTTP/1.1\r\n${AUTH}${headers}Transfer-Encoding: chunked\r\n\r\n${chunks}`;
}

/** A body as one chunk. */
export function chunk(body: string): string {
  return `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n`;
}

/** Expects the headers of every response. */
export function expectCommonHeaders({ headers }: RawResponse): void {
  expect(headers).toMatchObject({
    'x-request-id': expect.stringMatching(/^[A-Za-z0-9._-]{1,128}$/),
    'x-content-type-options': 'nosniff',
    'x-ratelimit-limit': expect.stringMatching(/^\d+$/),
    'x-ratelimit-remaining': expect.stringMatching(/^\d+$/),
    'x-ratelimit-reset': expect.stringMatching(/^\d+$/),
    ratelimit: expect.stringMatching(/^"minute";r=\d+;t=\d+/),
    'ratelimit-policy': expect.stringMatching(/^"minute";q=\d+;w=60/),
    date: expect.stringMatching(/ GMT$/),
  });
  expect(headers['server']).toBeUndefined();
  expect(headers['x-powered-by']).toBeUndefined();
}

export function expectErrorBody({ status, headers, text }: RawResponse, code: string): void {
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
  expect(JSON.parse(text)).toEqual({ code, message: expect.stringMatching(/\.$/), status });
  expect(text).not.toMatch(/node_modules|\.(?:ts|js)\b|HPE_|lossless|fastify|SELECT /i);
  if (status === 405) expect(headers['allow']).toMatch(/^[A-Z]+(?:, [A-Z]+)*$/);
}
