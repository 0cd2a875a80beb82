import { ADDRCONFIG, type LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';

/** Finds the addresses of a host; at least one. */
export type HostLookup = (host: string) => Promise<LookupAddress[]>;

/** Looks up a host as Node does for a connection. */
export const systemLookup: HostLookup = (host) => lookup(host, { all: true, hints: ADDRCONFIG });

/**
 * Runs one lookup at a time: concurrent lookups of one host share a result, other hosts wait.
 *
 * A lookup cannot be cancelled. It holds one of the process's few threads until the DNS responds or gives up, long after
 * the attempt to connect. With one lookup for each attempt, Redis would hold all threads, and the service could not look
 * up the host of its database.
 */
export function oneAtATime(ask: HostLookup): HostLookup {
  const pending = new Map<string, ReturnType<HostLookup>>();
  let last: Promise<unknown> = Promise.resolve();
  return (host) => {
    const known = pending.get(host);
    if (known) return known;
    const addresses = last.then(() => ask(host)).finally(() => pending.delete(host));
    pending.set(host, addresses);
    last = addresses.catch(() => undefined);
    return addresses;
  };
}

/** Converts a lookup to the `lookup` option of a socket with `autoSelectFamily`. */
export function socketLookup(lookupHost: HostLookup): LookupFunction {
  const ask = callbackify(lookupHost);
  return (host, _options, callback) => ask(host, callback);
}
