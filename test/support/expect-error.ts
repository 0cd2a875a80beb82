import type { Answer } from './http';

/** Expects an Error body of exactly three members, with this status, this code and a message. */
export function expectError(answer: Answer, status: number, code: string): void {
  expect({ status: answer.status, body: answer.text }).toEqual({ status, body: expect.any(String) });
  expect(answer.headers['content-type']).toMatch(/^application\/json/);
  expect(answer.json).toEqual({ code, message: expect.stringMatching(/\S/), status });
  expect(answer.json.message).not.toMatch(/SELECT|INSERT|node_modules|\.ts\b|\.js\b|fastify|lossless/i);
}
