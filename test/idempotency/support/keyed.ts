import type { TestApp } from '../../support/app';
import type { HttpResponse } from '../../support/http';

let keys = 0;

/** Returns a new Idempotency-Key. */
export function newKey(): string {
  keys += 1;
  return `key-${keys}`;
}

export function keyedPost(
  app: TestApp,
  path: string,
  idempotencyKey: string,
  body: string | object,
  key = app.key,
): Promise<HttpResponse> {
  return app.post(path, body, { key, headers: { 'idempotency-key': idempotencyKey } });
}

/** Expects the first response again, byte for byte, with `Idempotent-Replayed: true`. */
export function expectReplay(again: HttpResponse, first: HttpResponse): void {
  expect(again).toMatchObject({ status: first.status, text: first.text });
  for (const name of ['location', 'content-type', 'content-length']) {
    expect({ name, value: again.headers[name] }).toEqual({ name, value: first.headers[name] });
  }
  expect(again.headers['idempotent-replayed']).toBe('true');
  expect(first.headers['idempotent-replayed']).toBeUndefined();
}
