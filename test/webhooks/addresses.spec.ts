import { BlockList } from 'node:net';
import type { GivenConfig } from '../../src/app/build';
import { isPublicAddress, WebhookSender } from '../../src/webhooks/webhook-sender';
import { startApp, type TestApp } from '../support/app';
import { until } from '../support/until';
import { addPets, createWebhook, type Receiver, startReceiver, tick } from './support/receivers';

const PUBLIC = ['1.1.1.1', '100.63.255.255', '172.32.0.1', '2606:4700::1111', '2a00:1450:4001::1'];
const OTHERS = [
  '0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255',
  '192.0.0.1 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1',
  '224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 :: ::1 ::ffff:1.1.1.1 ::ffff:7f00:1 ::1.1.1.1',
  '64:ff9b::7f00:1 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1:: 3fff::1 fc00::1 fd12::1',
  'fe80::1 fe80::1%lo fec0::1 ff02::1 localhost',
].flatMap((line) => line.split(' '));

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
    await app.database.query('UPDATE webhooks SET url = $2 WHERE id = $1', [path.split('/').at(-1), url]);
    const { error } = (await app.post(`${path}/test`, undefined)).json;
    await addPets(app, 'Rex');
    await tick(app);
    let lastError: string | null = null;
    await until(async () => (lastError = (await app.get(path)).json.lastError) !== null);
    return [error, lastError];
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
    const error = 'The URL must be https, and its host must have public addresses only.';
    expect(await errors(host)).toEqual([error, error]);
    expect(receiver.connections()).toBe(0);
  });

  it.each([
    [
      'a private address',
      ['127.0.0.1'],
      'The URL must be https, and its host must have public addresses only.',
    ],
    [
      'a public and a private address',
      ['1.1.1.1', '::1'],
      'The URL must be https, and its host must have public addresses only.',
    ],
    ['no address', [], 'The name of the host cannot be resolved.'],
  ])('are resolved once, at the connection: a name with %s gets none', async (_, addresses, error) => {
    const sender = app.nest.get(WebhookSender, { strict: false });
    const resolve = jest.fn(() => Promise.resolve(addresses));
    Object.assign(sender, { resolve });
    expect(await errors('shop.example')).toEqual([error, error]);
    expect(resolve).toHaveBeenCalledTimes(2);
    expect(receiver.connections()).toBe(0);
  });

  it('are connected to if they are public, the next one if one does not respond', async () => {
    const sender = app.nest.get(WebhookSender, { strict: false });
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
    expect(error).toMatch(/^The connection failed: (EPROTO|ERR_SSL_\w+)\.$/);
    expect([other.connections(), resolve.mock.calls]).toEqual([1, [['shop.example']]]);
    await other.close();
  });

  it('get nothing by http, also of a webhook from the time of WEBHOOKS_ALLOW_PRIVATE', async () => {
    const earlier = await startApp({ webhooksAllowPrivate: true } as GivenConfig, { beside: app });
    const webhook = await createWebhook(earlier, { url: 'http://shop.example' }, { key: app.key });
    await earlier.close();
    const { json } = await app.post(`${webhook.path}/test`, undefined);
    expect(json).toEqual({
      delivered: false,
      error: 'The URL must be https, and its host must have public addresses only.',
    });
    await app.send('DELETE', webhook.path);
  });

  it('are those of the name servers, unlike those of this machine', async () => {
    const sender = app.nest.get(WebhookSender, { strict: false });
    Reflect.deleteProperty(sender, 'resolve');
    const [error] = await errors('localhost');
    expect(error).toMatch(/^The (URL must be https, .*|name of the host cannot be resolved)\.$/);
    expect(receiver.connections()).toBe(0);
  });
});
