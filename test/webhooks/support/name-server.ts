import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { isIPv4 } from 'node:net';

const A = 1;
const AAAA = 28;

/** Addresses by name. Of a family that is undefined the server never responds. */
export type Names = Readonly<
  Record<string, { readonly v4?: readonly string[]; readonly v6?: readonly string[] }>
>;

export interface NameServer {
  /** The questions so far: name and type. */
  readonly asked: string[];
  close(): Promise<void>;
}

/** Starts a name server on loopback that every resolver of this process asks from now on, until `close`. */
export async function startNameServer(names: Names): Promise<NameServer> {
  const server = createSocket('udp4');
  const asked: string[] = [];
  server.on('message', (query, { port }) => {
    const end = query.indexOf(0, 12) + 5;
    const type = query.readUInt16BE(end - 4);
    const name = nameOf(query.subarray(12, end - 4));
    asked.push(`${name} ${type}`);
    const addresses = type === A ? names[name]?.v4 : names[name]?.v6;
    if (!addresses) return;
    const header = Buffer.from('000081800001000000000000', 'hex');
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(addresses.length, 6);
    const answers = addresses.map((address) => recordOf(address));
    server.send(Buffer.concat([header, query.subarray(12, end), ...answers]), port);
  });
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
  const { port } = server.address();
  const restore = useNameServer(port);
  return {
    asked,
    close: async () => {
      restore();
      await new Promise<void>((resolve) => void server.close(resolve));
    },
  };
}

/** Makes each resolver of this process ask this port, as if the system were configured so. @returns reverts it */
export function useNameServer(port: number): () => void {
  const { resolve4 } = Resolver.prototype;
  const ask = function (this: Resolver, name: string) {
    this.setServers([`127.0.0.1:${port}`]);
    return resolve4.call(this, name, { ttl: false });
  };
  const spy = jest.spyOn(Resolver.prototype, 'resolve4').mockImplementation(ask);
  return () => spy.mockRestore();
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
  const data = isIPv4(address)
    ? Buffer.from(address.split('.').map(Number))
    : Buffer.from(wordsOf(address).join(''), 'hex');
  const head = Buffer.from('c00c000000010000003c0000', 'hex');
  head.writeUInt16BE(isIPv4(address) ? A : AAAA, 2);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

/** Returns the eight groups of an IPv6 address, each of four digits. */
function wordsOf(address: string): string[] {
  const [before = [], after = []] = address.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after].map((word) => word.padStart(4, '0'));
}
