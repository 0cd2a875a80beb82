import { ADDRCONFIG, type LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';

/**
 * Looks up one host at a time for connections; concurrent lookups of a host share a result.
 *
 * A lookup cannot be cancelled, and holds one of the process's few threads until the DNS gives up, long after the attempt
 * to connect. With one lookup for each attempt, all other work of these threads would wait behind them, and if the DNS
 * takes longer than an attempt, no result would be used.
 */
export class HostLookup {
  /** The lookups under way, by host, and the last one. */
  private readonly running = new Map<string, Promise<LookupAddress[]>>();
  private last: Promise<unknown> = Promise.resolve();

  readonly lookUp: LookupFunction = (host, { all }, callback) =>
    callbackify(() => this.addressesOf(host))((error, addresses) => {
      const [first = { address: '', family: 0 }] = addresses ?? [];
      if (error !== null || all) callback(error, addresses);
      else callback(null, first.address, first.family);
    });

  private addressesOf(host: string): Promise<LookupAddress[]> {
    const known = this.running.get(host);
    if (known) return known;
    const find = () => lookup(host, { all: true, hints: ADDRCONFIG });
    const addresses = this.last.then(find);
    this.running.set(host, addresses);
    this.last = addresses.catch(() => undefined).finally(() => this.running.delete(host));
    return addresses;
  }
}
