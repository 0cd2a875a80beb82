import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import { holdTimeouts } from '../support/timers';
import { addPets, respondWith, startShop } from './support/receivers';

const ANY = expect.any(String) as unknown as string;
const failed = (code: string) => `The connection failed: ${code}.`;
const NO_RESPONSE = 'The receiver does not respond.';

/** The bytes of a response, and its attempt: the status, the text and the error. */
const RESPONSES: [bytes: string, status: number | null, response: string | null, error: string | null][] = [
  ['HTTP/1.1 204 No Content\r\n\r\n', 204, '', null],
  ['HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok', 204, '', null],
  ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\r\n\r\nok', 200, ANY, null],
  [
    'HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\nLink: <a>\r\n\r\nHTTP/1.1 202 A\r\nContent-Length: 0\r\n\r\n',
    202,
    '',
    null,
  ],
  [
    'HTTP/1.1 500 No\r\nContent-Length: 6\r\n\r\n\n\t \x1b\x7f ',
    500,
    '\n\t \x1b\x7f ',
    'The response was 500.',
  ],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno length', null, null, failed('ECONNRESET')],
  ['HTTP/1.1 099 X\r\nContent-Length: 2\r\n\r\nok', 99, 'ok', 'The response was 99.'],
  ['', null, null, failed('ECONNRESET')],
];

/** Bytes that a receiver repeats without an end, and the error. */
const ENDLESS: [bytes: string, error: string | null][] = [
  ['HTTP/1.1 100 Continue\r\n\r\n', NO_RESPONSE],
  ['HTTP/1.1 101 S\r\n\r\n', 'The response was 101.'],
  ['HTTP/1.1 100 C\r\nA: ', failed('HPE_HEADER_OVERFLOW')],
  ['HTTP/1.1 200 OK\r\nA: b\r\n\r\n', null],
];

describe('a receiver decides by its response', () => {
  const shop = startShop();

  it.each(RESPONSES)('%j is an attempt with status %p', async (bytes, status, response, error) => {
    shop.receiver.respond = ({ socket }) => socket!.end(bytes);
    const { path } = await shop.create();
    expect(await shop.test(path)).toEqual({ delivered: error === null, error });
    expect(await shop.state(`${path}/deliveries`)).toMatchObject([{ eventId: 0, status, response, error }]);
    expect(shop.receiver.deliveries).toHaveLength(1);
  });

  it.each(ENDLESS)('%j without an end is read for a few KiB at most: %p', async (repeated, error) => {
    let sent = 0;
    const chunk = Buffer.from(repeated.repeat(Math.ceil(65_536 / repeated.length)));
    const isClosed = new Promise((resolve) => {
      shop.receiver.respond = ({ socket }) => {
        const write = () => {
          while (!socket!.destroyed && sent < 2 ** 30 && socket!.write(chunk)) sent += chunk.length;
        };
        socket!
          .on('drain', write)
          .on('error', () => undefined)
          .on('close', resolve);
        write();
      };
    });
    const { path } = await shop.create();
    expect(await shop.test(path)).toEqual({ delivered: error === null, error });
    await isClosed;
    expect(sent).toBeLessThan(2 ** 25);
  });

  it.each([
    [302, 'failing'],
    [410, 'disabled'],
  ])('a delivery with the response %i makes the webhook %s', async (code, status) => {
    shop.receiver.respond = respondWith(code, { location: '/elsewhere' });
    const { path } = await shop.create();
    await addPets(shop.app, 'a');
    await shop.app.runDueWork();
    expect(await shop.state(path)).toMatchObject({ status, lastError: `The response was ${code}.` });
    expect(shop.receiver.deliveries).toHaveLength(1);
  });

  it('a kept connection that the receiver has closed is replaced, and the event sent again', async () => {
    const { app, receiver } = shop;
    const used = new Set<unknown>();
    receiver.respond = (response) => {
      if (used.has(response.socket)) return response.destroy();
      used.add(response.socket);
      return response.end();
    };
    const { path } = await shop.create();
    await addPets(app, 'a', 'b');
    await app.runDueWork();
    expect([receiver.seen(), receiver.connections()]).toEqual([['a', 'b', 'b'], 2]);
    expect(await shop.state(path)).toMatchObject({ status: 'active', lastError: null, waitingSince: null });
  });

  it('a body that does not end within 10 s is a failure', async () => {
    const { app, receiver } = shop;
    receiver.respond = (response) => response.writeHead(200).write('a');
    const { path } = await shop.create();
    await addPets(app, 'a');
    const { pass } = holdTimeouts(10_000);
    const work = app.runDueWork();
    await receiver.received(1);
    pass();
    await work;
    const lastError = 'No complete response within 10 s.';
    expect(await shop.state(path)).toMatchObject({ status: 'failing', lastError });
    expect(receiver.deliveries).toHaveLength(1);
  });

  it.each([
    ['ECONNREFUSED', 'The connection failed: ECONNREFUSED.'],
    ['CERT_HAS_EXPIRED', 'The connection failed: CERT_HAS_EXPIRED.'],
  ])('a connection that fails by %s is an attempt with the error', async (code, error) => {
    const { path } = await shop.create();
    const fail = (message: unknown) => {
      const { request } = message as { request: ClientRequest };
      if (request.getHeader('webhook-id')) request.destroy(Object.assign(new Error(), { code }));
    };
    subscribe('http.client.request.start', fail);
    expect((await shop.test(path)).error).toBe(error);
    unsubscribe('http.client.request.start', fail);
  });
});
