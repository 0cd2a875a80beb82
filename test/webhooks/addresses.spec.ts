import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { ClientRequest } from 'node:http';
import https from 'node:https';
import { BlockList, isIP, Socket } from 'node:net';
import type { GivenConfig } from '../../src/app/build';
import { isPublicAddress } from '../../src/webhooks/public-addresses';
import { ReceiverClient } from '../../src/webhooks/receiver-client';
import { startApp, type TestApp } from '../support/app';
import { until } from '../support/until';
import { addPets, createWebhook, ended, type Receiver, startReceiver, tick } from './support/receivers';

const PUBLIC = [
  '1.1.1.1 100.63.255.255 172.32.0.1 168.63.129.15 2606:4700::1111 2a00:1450:4001::1',
  '64:ff9b::101:101 64:ff9b::5db8:d822 64:ff9b::1.1.1.1 64:ff9b::b00:0 64:ff9b::ac20:1',
].flatMap((line) => line.split(' '));
const OTHERS = [
  '0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255',
  '192.0.0.1 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1',
  '224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 :: ::1 ::ffff:1.1.1.1 ::ffff:7f00:1 ::1.1.1.1',
  '64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:: 64:ff9b::a83f:8110 64:ff9b::ac1f:ffff',
  '168.63.129.16 64:ff9b:1::101:101 64:ff9b:0:1::101:101 64:ff9b:1::1 5f00::1 100:0:0:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1:: 3fff::1 fc00::1 fd12::1',
  'fe80::1 fe80::1%lo fec0::1 ff02::1 localhost',
].flatMap((line) => line.split(' '));

/** The same for a name that is unknown, so that no error tells which internal names exist. */
const RULE = 'The URL must have a known host with public addresses only.';
const OWN_FAILURE = 'The service has no name server, open files or memory. It retries.';

describe('addresses of receivers', () => {
  let app: TestApp;
  let receiver: Receiver;
  let path: string;
  beforeAll(async () => {
    app = await startApp();
    receiver = await startReceiver();
  });
  beforeEach(async () => {
    ({ path } = await createWebhook(app, { url: 'https://shop.example' }));
    await app.database.query(`UPDATE webhooks SET disabled_at = now() WHERE id < $1`, [
      path.split('/').at(-1),
    ]);
  });
  afterEach(() => app.send('DELETE', path));
  afterAll(async () => {
    await receiver.close();
    await app.close();
  });

  const portOf = () => new URL(receiver.url).port;
  /** The error of a test and that of a delivery. */
  const errors = async (host: string) => {
    const url = `https://${host}:${portOf()}/`;
    const id = path.split('/').at(-1);
    await app.database.query('UPDATE webhooks SET url = $2 WHERE id = $1', [id, url]);
    const { error } = (await app.post(`${path}/test`, undefined)).json;
    await addPets(app, 'Rex');
    await tick(app);
    const failing = 'SELECT FROM webhooks WHERE id = $1 AND last_error IS NOT NULL';
    await until(async () => (await app.database.query(failing, [id])).length === 1);
    return [error, (await app.get(path)).json.lastError];
  };

  it('are those of the public Internet', () => {
    expect([...PUBLIC, ...OTHERS].filter(isPublicAddress)).toEqual(PUBLIC);
  });

  it.each([
    '127.0.0.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '127.1',
    '0',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::]',
    '169.254.169.254',
  ])('are checked if the URL has the address %s', async (host) => {
    expect(await errors(host)).toEqual([RULE, RULE]);
    expect(receiver.connections()).toBe(0);
  });

  it.each([
    ['a private address', ['127.0.0.1']],
    ['a public and a private address', ['1.1.1.1', '::1']],
    ['a private address after many', [...Array.from({ length: 999 }, () => '1.1.1.1'), '10.0.0.1']],
    ['a private address behind NAT64', ['64:ff9b::7f00:1']],
    ['no address', []],
  ])('are resolved once, at the connection: a name with %s gets none', async (_, addresses) => {
    const sender = app.nest.get(ReceiverClient, { strict: false });
    const resolve = jest.fn(() => Promise.resolve(addresses));
    Object.assign(sender, { resolve });
    expect(await errors('shop.example')).toEqual([RULE, RULE]);
    expect(resolve).toHaveBeenCalledTimes(2);
    expect(receiver.connections()).toBe(0);
  });

  it('are connected to if they are public, the next one if one does not respond', async () => {
    const sender = app.nest.get(ReceiverClient, { strict: false });
    const resolve = jest.fn(() => Promise.resolve(['127.0.0.2', '127.0.0.1']));
    Object.assign(sender, { resolve });
    const check = jest.spyOn(BlockList.prototype, 'check').mockReturnValue(false);
    const other = await startReceiver();
    const id = path.split('/').at(-1);
    const url = `https://shop.example:${new URL(other.url).port}`;
    await app.database.query('UPDATE webhooks SET url = $2 WHERE id = $1', [id, url]);
    const { error } = (await app.post(`${path}/test`, undefined)).json;
    check.mockRestore();
    // The receiver has no TLS.
    expect(error).toBe('The TLS handshake failed.');
    expect([other.connections(), resolve.mock.calls]).toEqual([1, [['shop.example']]]);
    await other.close();
  });

  it('are at most four for a connection, of both families, with seconds for each', async () => {
    const sender = app.nest.get(ReceiverClient, { strict: false });
    const of = (prefix: string) => Array.from({ length: 2_000 }, (_, at) => `${prefix}${at + 1}`);
    Object.assign(sender, {
      resolve: () => Promise.resolve([...of('127.1.0.'), ...of('fd00::')].filter(isIP)),
    });
    // Of the lists of blocks only that of public addresses has two.
    const check = jest.spyOn(BlockList.prototype, 'check').mockImplementation(function (this: BlockList) {
      return this.rules.length === 2;
    });
    const request = jest.spyOn(https, 'request');
    const emit = jest.spyOn(Socket.prototype, 'emit');
    await errors('shop.example');
    const events: unknown[][] = emit.mock.calls;
    const attempts = events
      .filter(([name, , port]) => name === 'connectionAttempt' && String(port) === portOf())
      .map(([, to]) => to);
    const [[, options] = []] = request.mock.calls as unknown[][];
    for (const spy of [check, emit, request]) spy.mockRestore();
    expect(new Set(attempts)).toEqual(new Set(['127.1.0.1', 'fd00::1', '127.1.0.2', 'fd00::2']));
    expect(options).toMatchObject({ autoSelectFamilyAttemptTimeout: 2_000 });
  });

  it('are those of the name server, unlike those of this machine, also if it never answers for one family', async () => {
    const server = createSocket('udp4');
    const asked: number[] = [];
    // The question ends with the type and the class. The response repeats it, with an address.
    server.on('message', (query, { port }) => {
      const end = query.indexOf(0, 12) + 5;
      asked.push(query.readUInt16BE(end - 4));
      if (asked.at(-1) !== 1) return;
      const header = Buffer.concat([query.subarray(0, 2), Buffer.from('81800001000100000000', 'hex')]);
      const answer = Buffer.from('c00c000100010000003c000401020304', 'hex');
      server.send(Buffer.concat([header, query.subarray(12, end), answer]), port);
    });
    await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
    const original = Resolver.prototype.resolve4;
    const resolve4 = jest.spyOn(Resolver.prototype, 'resolve4').mockImplementation(function (this: Resolver) {
      this.setServers([`127.0.0.1:${server.address().port}`]);
      return original.call(this, 'localhost', { ttl: false });
    });
    const cancel = jest.spyOn(Resolver.prototype, 'cancel');
    const sender = app.nest.get(ReceiverClient, { strict: false });
    Reflect.deleteProperty(sender, 'resolve');
    expect(await sender['resolve']('localhost')).toEqual(['1.2.3.4']);
    expect([new Set(asked), cancel.mock.calls.length]).toEqual([new Set([1, 28]), 1]);
    for (const spy of [resolve4, cancel]) spy.mockRestore();
    server.close();
  });

  it('without a name server that can be asked the receiver has not failed, and the event is sent later', async () => {
    const closed = createSocket('udp4');
    await new Promise<void>((resolve) => closed.bind(0, '127.0.0.1', resolve));
    const { port } = closed.address();
    await new Promise<void>((resolve) => void closed.close(resolve));
    const original = Resolver.prototype.resolve4;
    const resolve4 = jest.spyOn(Resolver.prototype, 'resolve4').mockImplementation(function (this: Resolver) {
      this.setServers([`127.0.0.1:${port}`]);
      return original.call(this, 'shop.example', { ttl: false });
    });
    Reflect.deleteProperty(app.nest.get(ReceiverClient, { strict: false }), 'resolve');
    await addPets(app, 'Rex');
    await tick(app);
    await until(() => resolve4.mock.calls.length > 0);
    await ended(app);
    expect((await app.get(path)).json).toMatchObject({ status: 'active', lastError: null });
    expect((await app.get(path)).json.waitingSince).not.toBeNull();
    expect((await app.post(`${path}/test`, undefined)).json.error).toBe(OWN_FAILURE);
    resolve4.mockRestore();
  });

  it.each([
    ['ECONNREFUSED', 'The connection was refused.'],
    ['ECONNRESET', 'The connection was closed before the end of the response.'],
    ['EPIPE', 'The connection was closed before the end of the response.'],
    ['ETIMEDOUT', 'The connection timed out.'],
    ['ERR_SOCKET_CONNECTION_TIMEOUT', 'The connection timed out.'],
    ['ENETUNREACH', 'The host is unreachable.'],
    ['ENOTFOUND', 'The name of the host cannot be resolved.'],
    ['HPE_UNEXPECTED_CONTENT_LENGTH', 'The response is not valid HTTP.'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'The TLS handshake failed.'],
    ['CERT_HAS_EXPIRED', 'The certificate has expired.'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'The certificate is for another name.'],
    ...[
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    ].map((code) => [code, 'The issuer of the certificate is unknown, or its chain is incomplete.']),
    ['CERT_REVOKED', 'The certificate is invalid.'],
    ['INVALID_PURPOSE', 'The certificate is invalid.'],
    ['EMFILE', OWN_FAILURE],
    ['EOTHER', 'The connection failed: EOTHER.'],
  ])('have errors in words: %s', async (code, words) => {
    // Without a name server, and without the global agent, which would keep the socket for the next request.
    const fail = () =>
      new ClientRequest({ host: '127.0.0.1', agent: false }).destroy(Object.assign(new Error(), { code }));
    const request = jest.spyOn(https, 'request').mockImplementation(fail);
    expect((await app.post(`${path}/test`, undefined)).json.error).toBe(words);
    request.mockRestore();
  });

  it('get nothing by http, also of a webhook from the time of WEBHOOKS_ALLOW_PRIVATE', async () => {
    const earlier = await startApp({ webhooksAllowPrivate: true } as GivenConfig, { beside: app });
    const webhook = await createWebhook(earlier, { url: 'http://shop.example' }, { key: app.key });
    await earlier.close();
    const { json } = await app.post(`${webhook.path}/test`, undefined);
    expect(json).toEqual({ delivered: false, error: 'The URL must be an https URL.' });
    await app.send('DELETE', webhook.path);
  });
});
