import { BlockList, isIP } from 'node:net';

/** The special-purpose blocks of IPv4 (IANA), multicast, the reserved addresses, and the host of a machine of Azure. */
const RESERVED_V4 = [
  '168.63.129.16/32',
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24',
  '192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
].join(' ');
/** The IPv4 addresses as NAT64 translates them (RFC 6052), also a name server with DNS64. */
const NAT64 = '64:ff9b::';
const RESERVED_NAT64 = RESERVED_V4.replaceAll(
  /(\S+)\/(\d+)/g,
  (_, ipv4, bits) => `${NAT64}${ipv4}/${96 + Number(bits)}`,
);
/** Among the global addresses: protocol assignments with Teredo, examples, 6to4, which contains IPv4, and NAT64. */
const RESERVED_V6 = `2001::/23 2001:db8::/32 2002::/16 3fff::/20 ${RESERVED_NAT64}`;

const reserved = blocksOf(RESERVED_V4, 'ipv4');
const reservedV6 = blocksOf(RESERVED_V6, 'ipv6');
/** All other IPv6 is local, mapped IPv4, multicast or unassigned. */
const globalV6 = blocksOf(`2000::/3 ${NAT64}/96`, 'ipv6');

function blocksOf(blocks: string, family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const block of blocks.split(' ')) {
    const [address = '', bits] = block.split('/');
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}

export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !reserved.check(address, 'ipv4');
  // A zone such as %eth0 belongs to a link-local address.
  if (isIP(address) !== 6 || address.includes('%')) return false;
  return globalV6.check(address, 'ipv6') && !reservedV6.check(address, 'ipv6');
}
