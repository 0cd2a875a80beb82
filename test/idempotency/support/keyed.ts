import type { TestApp } from '../../support/app';
import type { Answer } from '../../support/http';

let keys = 0;

/** An Idempotency-Key that nobody has used. */
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
): Promise<Answer> {
  return app.post(path, body, { key, headers: { 'idempotency-key': idempotencyKey } });
}

/** The answer is the first one, byte for byte, and says that it is a repetition. */
export function expectReplay(again: Answer, first: Answer): void {
  expect(again).toMatchObject({ status: first.status, text: first.text });
  for (const name of ['location', 'content-type', 'content-length']) {
    expect({ name, value: again.headers[name] }).toEqual({ name, value: first.headers[name] });
  }
  expect(again.headers['idempotent-replayed']).toBe('true');
  expect(first.headers['idempotent-replayed']).toBeUndefined();
}
