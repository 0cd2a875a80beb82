import { Resolver } from 'node:dns/promises';
import {
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as requestHttp,
} from 'node:http';
import { request as requestHttps } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type ConfigOf } from '../platform/config/config';
import { SECOND_MS } from '../platform/runtime/time';
import type { webhookSettings } from './webhooks.settings';

/** The special-purpose blocks of IPv4 (IANA), multicast and the reserved addresses. */
const RESERVED_V4 = [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24',
  '192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
].join(' ');
/** Within the global unicast addresses: protocol assignments with Teredo, examples, and 6to4, which contains IPv4. */
const RESERVED_V6 = '2001::/23 2001:db8::/32 2002::/16 3fff::/20';

const reserved = blocksOf(RESERVED_V4, 'ipv4');
const reservedV6 = blocksOf(RESERVED_V6, 'ipv6');
/** All other IPv6 is local, mapped IPv4 (also by NAT64), multicast or unassigned. */
const globalV6 = blocksOf('2000::/3', 'ipv6');

function blocksOf(blocks: string, family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const block of blocks.split(' ')) {
    const [address = '', bits] = block.split('/');
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** True for an address of the public Internet. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !reserved.check(address, 'ipv4');
  // A zone such as %eth0 belongs to a link-local address.
  if (isIP(address) !== 6 || address.includes('%')) return false;
  return globalV6.check(address, 'ipv6') && !reservedV6.check(address, 'ipv6');
}

/** Why a delivery failed, in words for the owner of the webhook. */
export class DeliveryError extends Error {
  /** @param status that of the response, if there was one */
  constructor(
    message: string,
    readonly status?: number,
  ) {
    super(message);
  }
}

const NOT_PUBLIC = 'The URL must be https, and its host must have public addresses only.';

/** The bytes of a response that are read; their content is ignored. */
const MAX_RESPONSE_BYTES = 4_096;
const RESOLVER = { timeout: 2 * SECOND_MS, tries: 2 };

/** Sends requests to receivers, which may be anywhere and hostile. */
@Injectable()
export class WebhookSender {
  /** Longest exchange, from the resolution of the name to the end of the response. */
  timeoutMs = 10 * SECOND_MS;
  private readonly open = new Set<ClientRequest>();

  constructor(@Inject(CONFIG) private readonly config: ConfigOf<typeof webhookSettings>) {}

  /** False for a URL that needs no resolution to be invalid. The connection checks the addresses of a name. */
  isAllowed({ protocol, hostname }: URL): boolean {
    // The URL parser has made the usual form of hexadecimal and others.
    const address = hostname.replace(/^\[(.*)\]$/, '$1');
    const isPublic = protocol === 'https:' && (isIP(address) === 0 || isPublicAddress(address));
    return isPublic || this.config.webhooksAllowPrivate;
  }

  /**
   * Sends a POST on a connection of its own. Redirects are not followed.
   *
   * @returns why it was not delivered; undefined if there was a complete response with a 2xx in time
   */
  async post(url: string, headers: OutgoingHttpHeaders, body: string): Promise<DeliveryError | undefined> {
    try {
      const status = await this.exchange(new URL(url), headers, body);
      const isDelivered = status >= 200 && status < 300;
      return isDelivered ? undefined : new DeliveryError(`The response was ${status}.`, status);
    } catch (error) {
      if (error instanceof DeliveryError) return error;
      const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
      return new DeliveryError(`The connection failed: ${code}.`);
    }
  }

  /** Ends the running requests, which fail. */
  abort(): void {
    for (const request of this.open) request.destroy();
  }

  /** Returns the addresses of a host. Unlike `lookup` of `node:dns` it blocks no thread, however slow the name servers are. */
  protected async resolve(hostname: string): Promise<readonly string[]> {
    const resolver = new Resolver(RESOLVER);
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    return answers.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  }

  private async exchange(url: URL, headers: OutgoingHttpHeaders, body: string): Promise<number> {
    // Also of a webhook that was created while WEBHOOKS_ALLOW_PRIVATE was on. Node.js calls `lookup` for names only.
    if (!this.isAllowed(url)) throw new DeliveryError(NOT_PUBLIC);
    const send = url.protocol === 'https:' ? requestHttps : requestHttp;
    const lookup = this.config.webhooksAllowPrivate ? {} : { lookup: this.lookup };
    const request = send(url, { method: 'POST', headers, agent: false, ...lookup });
    this.open.add(request);
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<number>((resolve, reject) => {
        const late = new DeliveryError(`No complete response within ${this.timeoutMs / SECOND_MS} s.`);
        timer = setTimeout(() => reject(late), this.timeoutMs);
        request
          .on('response', (response) => void readSome(response).then(resolve, reject))
          // Node.js has detached the socket: nothing else closes it, and an error of it would end the process.
          .on('upgrade', ({ statusCode = 0 }, socket) => {
            socket.destroy();
            resolve(statusCode);
          })
          .on('error', reject)
          .end(body);
      });
    } finally {
      clearTimeout(timer);
      this.open.delete(request);
      request.destroy();
    }
  }

  /** Resolves a name for the connection, which uses only the addresses that were checked here. */
  private readonly lookup: LookupFunction = (hostname, { all }, callback) => {
    void (async () => {
      const addresses = await this.resolve(hostname).catch(() => []);
      const found = addresses.map((address) => ({ address, family: isIP(address) }));
      const [first] = found;
      if (!first) callback(new DeliveryError('The name of the host cannot be resolved.'), []);
      else if (!addresses.every(isPublicAddress)) callback(new DeliveryError(NOT_PUBLIC), []);
      else if (all) callback(null, found);
      else callback(null, first.address, first.family);
    })();
  };
}

/** Reads the end of a response, or as much as is read of a long one. @returns its status */
async function readSome(response: IncomingMessage): Promise<number> {
  let length = 0;
  for await (const chunk of response) {
    length += Buffer.byteLength(chunk);
    if (length > MAX_RESPONSE_BYTES) break;
  }
  return response.statusCode ?? 0;
}
