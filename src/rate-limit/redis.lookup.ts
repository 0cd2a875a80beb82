import { ADDRCONFIG, type LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';

/** The addresses of a host, one at least. */
export type Lookup = (host: string) => Promise<LookupAddress[]>;

/** As Node looks up the host of a connection. */
export const systemLookup: Lookup = (host) => lookup(host, { all: true, hints: ADDRCONFIG });

/**
 * One lookup at a time: whoever asks for a host that is asked for already gets the same answer, the next host waits.
 *
 * A lookup cannot be cancelled, and holds one of the few threads of the process until the DNS answers or is given up,
 * long after the attempt to connect. Were there one for each attempt, they would hold all threads, and the database,
 * whose host is looked up by them too, could not be reached for want of a name of Redis.
 */
export function oneAtATime(ask: Lookup): Lookup {
  const pending = new Map<string, ReturnType<Lookup>>();
  let last: Promise<unknown> = Promise.resolve();
  return (host) => {
    const known = pending.get(host);
    if (known) return known;
    const answer = last.then(() => ask(host)).finally(() => pending.delete(host));
    pending.set(host, answer);
    last = answer.catch(() => undefined);
    return answer;
  };
}
