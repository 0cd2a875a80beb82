import { startApp, type TestApp } from '../support/app';
import { refuseUndocumented, refuseUndocumentedRaw } from '../support/conformance';
import { aNewPet } from '../support/factories';
import type { Answer } from '../support/http';

describe('an answer that openapi.json does not document fails the spec that asked for it', () => {
  let app: TestApp;
  let created: Answer;
  let listed: Answer;
  beforeAll(async () => {
    app = await startApp(
      {},
      {
        beforeListen: (nest) => {
          nest
            .getHttpAdapter()
            .getInstance()
            .addHook('onSend', (request, reply, _payload, done) => {
              if (request.headers['x-surprise'] !== undefined) reply.header('X-Surprise', 'yes');
              done();
            });
        },
      },
    );
    created = await app.post('/v1/pets', aNewPet());
    listed = await app.get('/v1/pets');
  });
  afterAll(() => app.close());

  const body = (change: Record<string, unknown>) => ({
    text: JSON.stringify({ ...JSON.parse(created.text), ...change }),
  });
  const headers = (change: Record<string, string>) => ({ headers: { ...created.headers, ...change } });
  const without = (name: string) => ({
    headers: Object.fromEntries(Object.entries(created.headers).filter(([key]) => key !== name)),
  });

  it.each<[string, string, () => Partial<Answer>]>([
    ['a status', 'status 202', () => ({ status: 202 })],
    ['a header', 'header x-surprise: yes', () => headers({ 'x-surprise': 'yes' })],
    ['a header missing', 'header location is missing', () => without('location')],
    ['another type of a header', 'header x-ratelimit-limit', () => headers({ 'x-ratelimit-limit': 'many' })],
    ['another form of a header', 'header ratelimit', () => headers({ ratelimit: '59' })],
    ['another Content-Type', 'Content-Type text/plain', () => headers({ 'content-type': 'text/plain' })],
    ['a member', 'must NOT have additional properties', () => body({ price: 1 })],
    ['a member missing', "must have required property 'id'", () => body({ id: undefined })],
    ['an id as text', 'body /id: must be integer', () => body({ id: '1' })],
    ['a status of the animal', 'must be equal to one of', () => body({ status: 'gone' })],
    ['a name too long', 'must NOT have more than 255', () => body({ name: 'x'.repeat(256) })],
    ['an envelope', 'must be object', () => ({ text: `[${created.text}]` })],
  ])('%s: %s', (_what, message, change) => {
    expect(() => refuseUndocumented('POST', '/v1/pets', created)).not.toThrow();
    expect(() => refuseUndocumented('POST', '/v1/pets', { ...created, ...change() })).toThrow(message);
  });

  it('an integer that is no int64', () => {
    const id = (digits: string) => ({ ...created, text: created.text.replace(/"id":\d+/, `"id":${digits}`) });
    expect(() => refuseUndocumented('POST', '/v1/pets', id('9223372036854775807'))).not.toThrow();
    expect(() => refuseUndocumented('POST', '/v1/pets', id('9223372036854775808'))).toThrow('is no int64');
  });

  it('a body of HEAD; a page of more than 100', () => {
    expect(() => refuseUndocumented('HEAD', '/v1/pets', { ...listed, text: '' })).not.toThrow();
    expect(() => refuseUndocumented('HEAD', '/v1/pets', listed)).toThrow('a body');
    const text = `[${Array<string>(101).fill(created.text).join()}]`;
    expect(() => refuseUndocumented('GET', '/v1/pets?limit=2', { ...listed, text })).toThrow('more than 100');
  });

  it('whatever client of test/support asked, and however the path was written', async () => {
    for (const path of ['/v1/pets', '/v1/%70ets?limit=1', '/v1/pets/1']) {
      const answer = app.get(path, { headers: { 'x-surprise': 'please' } });
      await expect(answer).rejects.toThrow('header x-surprise: yes');
    }
    const raw = 'HTTP/1.1 418 No\r\ncontent-length: 2\r\n\r\nno';
    expect(() => refuseUndocumentedRaw('GET /v1/pets HTTP/1.1\r\n\r\n', raw)).toThrow('status 418: no');
  });

  it('answers of no operation are not looked at', () => {
    for (const path of ['/v1/nothing', '/v1/pets/', '/livez', '/v1/pets/1/x']) {
      expect(() => refuseUndocumented('GET', path, { ...listed, status: 418 })).not.toThrow();
    }
    expect(() => refuseUndocumented('DELETE', '/v1/pets', { ...listed, status: 405 })).not.toThrow();
  });
});
