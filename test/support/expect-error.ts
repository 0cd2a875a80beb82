import type { HttpResponse } from './http';

/** Expects an Error body of exactly three members, with this status, this code and a message. */
export function expectError(response: HttpResponse, status: number, code: string): void {
  expect({ status: response.status, body: response.text }).toEqual({ status, body: expect.any(String) });
  expect(response.headers['content-type']).toMatch(/^application\/json/);
  expect(response.json).toEqual({ code, message: expect.stringMatching(/\S/), status });
  expect(response.json.message).not.toMatch(/SELECT|INSERT|node_modules|\.ts\b|\.js\b|fastify|lossless/i);
}
