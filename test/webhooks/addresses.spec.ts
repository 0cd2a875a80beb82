import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import https from 'node:https';
import { BlockList, isIPv6 } from 'node:net';
import { startApp, type TestApp } from '../support/app';
import { addPets, createWebhook, type Receiver, SETTINGS, startReceiver } from './support/receivers';

/** The same for a name that is unknown, so that no error tells which internal names exist. */
const RULE = 'The URL must have a known host with public addresses only.';
/** Public addresses: among them the last before a block and the first after it. */
const PUBLIC = [
  '1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 172.15.255.255 172.32.0.0',
  '168.63.129.15 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 2000::1 2001:200:: 2003::1',
  '2606:4700::1111 2a00:1450:4001::1 3ffe:ffff::1',
  '64:ff9b::101:101 64:ff9b::5db8:d822 64:ff9b::1.1.1.1 64:ff9b::b00:0 64:ff9b::ac20:1',
].flatMap((line) => line.split(' '));
/** The ends of the blocks that are not public, by IANA's registries, and the host of a machine of Azure. */
const OTHERS = [
  '0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.0 127.255.255.255 169.254.0.0',
  '169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.255 192.0.2.0 192.0.2.255 192.88.99.0 192.168.0.0',
  '192.168.255.255 198.18.0.0 198.19.255.255 198.51.100.0 203.0.113.255 168.63.129.16 224.0.0.0 255.255.255.255',
  ':: ::1 ::ffff:1.1.1.1 ::ffff:7f00:1 ::1.1.1.1 64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b:: 64:ff9b::a9fe:a9fe',
  '64:ff9b::a83f:8110 64:ff9b::ac1f:ffff 64:ff9b:1::101:101 64:ff9b:0:1::101:101 5f00::1 100::1 1fff:ffff::1',
  '2001::1 2001:1ff::1 2001:db8::1 2002:7f00:1:: 3fff::1 3fff:fff::1 4000:: fc00::1 fdff::1 fe80::1 fec0::1 ff02::1',
].flatMap((line) => line.split(' '));

const A = 1;
const AAAA = 28;

/** Addresses by name. */
type Names = Readonly<Record<string, { readonly v4: readonly string[]; readonly v6: readonly string[] }>>;

interface NameServer {
  /** The questions so far: name and type. */
  readonly asked: string[];
  close(): Promise<void>;
}

/** Starts a name server on loopback that every resolver of this process asks from now on. */
async function startNameServer(names: Names): Promise<NameServer> {
  const server = createSocket('udp4');
  const asked: string[] = [];
  server.on('message', (query, { port }) => {
    const end = query.indexOf(0, 12) + 5;
    const type = query.readUInt16BE(end - 4);
    const name = nameOf(query.subarray(12, end - 4));
    asked.push(`${name} ${type}`);
    const addresses = (type === A ? names[name]?.v4 : names[name]?.v6) ?? [];
    const header = Buffer.from('000081800001000000000000', 'hex');
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(addresses.length, 6);
    const answers = addresses.map(recordOf);
    server.send(Buffer.concat([header, query.subarray(12, end), ...answers]), port);
  });
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
  const { port } = server.address();
  const { resolve4 } = Resolver.prototype;
  const ask = function (this: Resolver, name: string) {
    this.setServers([`127.0.0.1:${port}`]);
    return resolve4.call(this, name, { ttl: false });
  };
  // As if the system were configured so.
  jest.spyOn(Resolver.prototype, 'resolve4').mockImplementation(ask);
  return { asked, close: () => new Promise<void>((resolve) => void server.close(() => resolve())) };
}

/** Reads labels, each with its length before it. */
function nameOf(labels: Buffer): string {
  const found: string[] = [];
  for (let at = 0; labels[at]; at += labels[at]! + 1)
    found.push(labels.toString('latin1', at + 1, at + 1 + labels[at]!));
  return found.join('.');
}

/** Returns an address record for the name of the question, valid for 60 s. */
function recordOf(address: string): Buffer {
  const data = isIPv6(address) ? bytesOfV6(address) : Buffer.from(address.split('.').map(Number));
  const head = Buffer.from('c00c000000010000003c0000', 'hex');
  head.writeUInt16BE(isIPv6(address) ? AAAA : A, 2);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function bytesOfV6(address: string): Buffer {
  const [before = '', after = ''] = address.split('::');
  const [start, end] = [before, after].map((part) =>
    Buffer.from(
      part
        .split(':')
        .map((word) => word && word.padStart(4, '0'))
        .join(''),
      'hex',
    ),
  ) as [Buffer, Buffer];
  return Buffer.concat([start, Buffer.alloc(16 - start.length - end.length), end]);
}

describe('addresses of receivers', () => {
  let app: TestApp;
  let receiver: Receiver;
  let names: NameServer | undefined;
  beforeAll(async () => {
    app = await startApp();
  });
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await receiver.close();
    await names?.close();
    names = undefined;
    await app.database.query('DELETE FROM webhooks');
  });
  afterAll(() => app.close());

  /**
   * Returns for each host the errors of a test and of a delivery. The URL may have been valid while
   * WEBHOOKS_ALLOW_PRIVATE was on.
   */
  const errorsOf = async (hosts: readonly string[], scheme = 'https') => {
    const earlier = await startApp(SETTINGS, { beside: app });
    const created = [];
    for (const host of hosts) {
      const { key } = await app.createKey();
      const url = `${scheme}://${host}:${new URL(receiver.url).port}/`;
      created.push({ host, key, ...(await createWebhook(earlier, { url }, { key })) });
    }
    await earlier.close();
    await addPets(app, 'Rex');
    await app.runDueWork();
    const errors: unknown[] = [];
    for (const { host, path, key } of created) {
      const { error } = (await app.post(`${path}/test`, undefined, { key })).json;
      errors.push([host, error, (await app.get(path, { key })).json.lastError]);
    }
    return errors;
  };
  const failingBy = (rule: string, hosts: readonly string[]) => hosts.map((host) => [host, rule, rule]);

  it('are those of the public Internet', async () => {
    const { path } = await createWebhook(app, { url: 'https://shop.example' });
    const accepted: string[] = [];
    for (const address of [...PUBLIC, ...OTHERS]) {
      const url = `https://${isIPv6(address) ? `[${address}]` : address}/`;
      const { status } = await app.send('PATCH', path, { body: { url } });
      if (status !== 400) accepted.push(address);
    }
    expect(accepted).toEqual(PUBLIC);
  });

  it('are checked in every form of an address, and by http none gets anything', async () => {
    const hosts = [
      '127.0.0.1 2130706433 0x7f000001 0177.0.0.1 127.1 0 [::1] [::ffff:127.0.0.1] [::] 169.254.169.254',
    ].flatMap((line) => line.split(' '));
    expect(await errorsOf(hosts)).toEqual(failingBy(RULE, hosts));
    expect(await errorsOf(['shop.example'], 'http')).toEqual(
      failingBy('The URL must be an https URL.', ['shop.example']),
    );
    expect(receiver.connections()).toBe(0);
  });

  it('are resolved by the name server, once for a connection: a name with an address that is not public gets none', async () => {
    const known: Names = {
      'private.example': { v4: ['127.0.0.1'], v6: [] },
      'mixed.example': { v4: ['1.1.1.1'], v6: ['::1'] },
      'late.example': { v4: [...Array<string>(20).fill('1.1.1.1'), '127.0.0.1'], v6: [] },
      'nat64.example': { v4: [], v6: ['64:ff9b::7f00:1'] },
      'unknown.example': { v4: [], v6: [] },
    };
    names = await startNameServer(known);
    const hosts = Object.keys(known);
    expect(await errorsOf(hosts)).toEqual(failingBy(RULE, hosts));
    expect(names.asked.toSorted()).toEqual(
      hosts.flatMap((host) => [`${host} 1`, `${host} 1`, `${host} 28`, `${host} 28`]).toSorted(),
    );
    expect(receiver.connections()).toBe(0);
  });

  it('are connected to if they are public: at most four, of both families in turn, with seconds for each', async () => {
    // Loopback is public here. Of the lists of blocks only that of public addresses has two.
    jest.spyOn(BlockList.prototype, 'check').mockImplementation(function (this: BlockList) {
      return this.rules.length === 2;
    });
    const request = jest.spyOn(https, 'request');
    names = await startNameServer({
      'third.example': { v4: ['127.0.0.2', '127.0.0.1'], v6: ['::1', '::1'] },
      'fifth.example': { v4: ['127.0.0.2', '127.0.0.3', '127.0.0.1'], v6: ['::1', '::1'] },
    });
    // The receiver has no TLS.
    expect(await errorsOf(['third.example'])).toEqual(
      failingBy('The connection failed: EPROTO.', ['third.example']),
    );
    expect(receiver.connections()).toBe(2);
    expect(await errorsOf(['fifth.example'])).toEqual(
      failingBy('The connection failed: ECONNREFUSED.', ['fifth.example']),
    );
    expect(receiver.connections()).toBe(2);
    const options = { autoSelectFamilyAttemptTimeout: 2_000 };
    expect(request.mock.calls.map((call) => call[1])).toEqual(
      Array(4).fill(expect.objectContaining(options)),
    );
  });
});
