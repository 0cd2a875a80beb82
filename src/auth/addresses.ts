import { BlockList, isIPv6 } from 'node:net';
import { clientAddress } from '../platform/routes/client-address';

/** Returns undefined for an empty list, which allows every address. */
export function blockListOf(addresses: readonly string[]): BlockList | undefined {
  if (addresses.length === 0) return undefined;
  const list = new BlockList();
  for (const each of addresses) {
    const [address = '', bits] = each.split('/');
    const isLong = isIPv6(address);
    list.addSubnet(address, Number(bits ?? (isLong ? 128 : 32)), isLong ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** True if a key with these addresses may be used from a client's. */
export function isAllowedAddress(addresses: BlockList | undefined, ip: string): boolean {
  if (!addresses) return true;
  // If the proxy does not know the address, the limits count its own, which must not open the key.
  const address = clientAddress(ip, undefined);
  // The list finds an IPv4 address also in its IPv6 form.
  return address !== undefined && addresses.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}
