import type { ApiError } from '../../src/platform/errors/api-error';
import type { RequestCheck } from '../../src/platform/http/request-check';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';

describe('a request check of an extension that fails', () => {
  let app: TestApp;
  let check: RequestCheck = () => undefined;
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  beforeAll(async () => {
    process.on('unhandledRejection', note);
    const extension = { name: 'checks', checks: [(...input: Parameters<RequestCheck>) => check(...input)] };
    app = await startApp({}, { extensions: [extension] });
  });
  afterAll(async () => {
    process.off('unhandledRejection', note);
    await app.close();
  });

  const notAnError = (): ApiError => JSON.parse('{}');
  const failure = new Error('the check failed');
  it.each<[how: string, check: RequestCheck]>([
    [
      'by an error',
      () => {
        throw failure;
      },
    ],
    ['by a rejection', () => Promise.reject(failure)],
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors
    ['by a rejection without a reason', () => Promise.reject(undefined)],
    ['with a value that is no error of the API', notAnError],
    ['with a promise of such a value', () => Promise.resolve(notAnError())],
  ])('%s: 500, and the request is not admitted', async (_how, failing) => {
    check = failing;
    expectError(await app.get('/v1/pets'), 500, 'internal_error');
    check = () => undefined;
    expect((await app.get('/v1/pets')).status).toBe(200);
    expect(unhandled).toEqual([]);
  });
});
