import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import {
  Agent as HttpAgent,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestOptions,
  request as requestHttp,
} from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type ConfigOf } from '../config/config';
import * as parsers from '../config/parsers';
import { SECOND_MS } from '../time/time';
import { isPublicAddress } from './public-addresses';

export const webhookSettings = {
  webhooksAllowPrivate: {
    variable: 'WEBHOOKS_ALLOW_PRIVATE',
    defaultText: 'false',
    parse: parsers.boolean,
    meaning:
      '`true` or `false`: whether webhooks may have `http` URLs and private, loopback or link-local addresses. Only for development.',
  },
};

/** Why a delivery failed, in words for the owner of the webhook. */
class DeliveryError extends Error {}

/** The result of a delivery. Without a complete response in time it has neither `status` nor `response`. */
export interface Outcome {
  readonly status?: number;
  /** The first characters of the response. */
  readonly response?: string;
  /** Why the event was not delivered, in words for the owner of the webhook; undefined if it was. */
  readonly error?: string;
}

/** One rule for unknown names and internal ones: an error must not tell which internal names exist. */
const PUBLIC_HOST = 'must have a known host with public addresses only';

/** RFC 6761, 6.3. */
const LOCALHOST = /(^|\.)localhost\.?$/;

const MAX_ADDRESSES = 4;
/** Node.js begins with the next address after this time, and does not return. Four of them have the time of an exchange. */
const CONNECT = { autoSelectFamilyAttemptTimeout: 2 * SECOND_MS };

/** Longest exchange, from the resolution of the name to the end of the response. */
const TIMEOUT_MS = 10 * SECOND_MS;
const MAX_RESPONSE_BYTES = 4_096;
/** The code points of a response that its owner sees. */
export const SHOWN_LENGTH = 200;
/** Node.js ignores any number of empty lines and of responses 1xx before the response. */
const MAX_BEFORE_RESPONSE = 65_536;
const RESOLVER = { timeout: 2 * SECOND_MS, tries: 2 };

/** Sends requests to receivers, which may be anywhere and hostile. */
@Injectable()
export class ReceiverClient {
  private readonly running = new Set<AbortController>();

  constructor(@Inject(CONFIG) private readonly config: ConfigOf<typeof webhookSettings>) {}

  /** Returns the rule that a URL violates without a resolution. The connection checks the addresses of a name. */
  violatedRule({ protocol, hostname }: URL): string | undefined {
    if (this.config.webhooksAllowPrivate) return undefined;
    if (protocol !== 'https:') return 'must be an https URL';
    // The URL parser has made the usual form of hexadecimal and others.
    const address = hostname.replace(/^\[(.*)\]$/, '$1');
    const isPublic = isIP(address) === 0 ? !LOCALHOST.test(hostname) : isPublicAddress(address);
    return isPublic ? undefined : PUBLIC_HOST;
  }

  /**
   * Sends a POST. Redirects are not followed.
   *
   * @param agent keeps the connection; default: the request has its own
   * @returns no error if there was a complete response with a 2xx in time
   */
  async post(url: string, headers: OutgoingHttpHeaders, body: string, agent?: HttpAgent): Promise<Outcome> {
    const controller = new AbortController();
    const { signal } = controller;
    const late = new DeliveryError(`No complete response within ${TIMEOUT_MS / SECOND_MS} s.`);
    const timer = setTimeout(() => controller.abort(late), TIMEOUT_MS);
    this.running.add(controller);
    try {
      const received = await this.exchange(new URL(url), body, { headers, signal, agent: agent ?? false });
      const { status } = received;
      return status >= 200 && status < 300 ? received : { ...received, error: `The response was ${status}.` };
    } catch (thrown) {
      const error: unknown = signal.aborted ? signal.reason : thrown;
      if (error instanceof DeliveryError) return { error: error.message };
      const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
      return { error: `The connection failed: ${code}.` };
    } finally {
      clearTimeout(timer);
      this.running.delete(controller);
    }
  }

  /** Keeps one connection to a receiver. Another connection resolves and checks the name again. */
  agentFor(url: string): HttpAgent {
    return new (url.startsWith('https:') ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: 1 });
  }

  /** Ends the running requests, which fail. */
  abort(): void {
    for (const each of this.running) each.abort(new DeliveryError('The service stops.'));
  }

  /** Returns the addresses of a host. Unlike `lookup` of `node:dns` it blocks no thread, however slow the name servers are. */
  protected async resolve(hostname: string): Promise<readonly string[]> {
    const resolver = new Resolver(RESOLVER);
    const queries = [resolver.resolve4(hostname), resolver.resolve6(hostname)];
    // Some name servers never answer for a family that the host lacks.
    const wait = () => setTimeout(() => resolver.cancel(), SECOND_MS).unref();
    void Promise.any(queries).then(wait, () => undefined);
    const answers = await Promise.allSettled(queries);
    return answers.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  }

  private async exchange(
    url: URL,
    body: string,
    options: RequestOptions & { readonly signal: AbortSignal },
  ): Promise<Outcome & { readonly status: number }> {
    // Also of a webhook that was created while WEBHOOKS_ALLOW_PRIVATE was on. Node.js calls `lookup` for names only.
    const rule = this.violatedRule(url);
    if (rule) throw new DeliveryError(`The URL ${rule}.`);
    const send = url.protocol === 'https:' ? requestHttps : requestHttp;
    const request = send(url, {
      method: 'POST',
      ...options,
      ...CONNECT,
      ...(!this.config.webhooksAllowPrivate && { lookup: this.lookup }),
    });
    let hasBegun = false;
    let before = 0;
    const count = (chunk: Buffer): void => {
      before += chunk.length;
      if (!hasBegun && before > MAX_BEFORE_RESPONSE)
        request.destroy(new DeliveryError('The receiver does not respond.'));
    };
    request.on('socket', (socket) => {
      socket.on('data', count);
      request.once('close', () => socket.off('data', count));
    });
    // Node.js has detached the socket: nothing else closes it.
    request.on('upgrade', ({ statusCode }, socket) => {
      socket.destroy();
      request.emit('error', new DeliveryError(`The response was ${statusCode}.`));
    });
    // Some receivers send superfluous bytes after a complete response.
    request.on('error', () => undefined);
    request.on('response', () => (hasBegun = true));
    try {
      const [response]: IncomingMessage[] = await once(request.end(body), 'response', options);
      if (!response) throw new Error('the event has a response');
      return { status: response.statusCode ?? 0, response: await beginningOf(response) };
    } catch (error) {
      // The receiver has closed the kept connection meanwhile. A new one has no such error.
      if (request.reusedSocket && !hasBegun && Object(error).code === 'ECONNRESET')
        return await this.exchange(url, body, options);
      throw error;
    } finally {
      request.destroy();
    }
  }

  /** Resolves a name for the connection, which uses only the addresses that were checked here. */
  private readonly lookup: LookupFunction = (hostname, { all }, callback) => {
    void (async () => {
      const addresses = await this.resolve(hostname);
      const [first, ...others] = addresses.every(isPublicAddress) ? someOf(addresses) : [];
      if (!first) callback(new DeliveryError(`The URL ${PUBLIC_HOST}.`), []);
      else if (all) callback(null, [first, ...others]);
      else callback(null, first.address, first.family);
    })();
  };
}

/** Returns at most a few addresses, of both families in turn, because one family may be unreachable. */
function someOf(addresses: readonly string[]): LookupAddress[] {
  const ofFamily = (family: number) =>
    addresses.filter((each) => isIP(each) === family).map((address, turn) => ({ address, family, turn }));
  return [...ofFamily(4), ...ofFamily(6)].sort((a, b) => a.turn - b.turn).slice(0, MAX_ADDRESSES);
}

/** Returns the first characters of a response. More than a few KiB are not read. */
async function beginningOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_RESPONSE_BYTES) break;
  }
  // PostgreSQL stores no NUL.
  const text = Buffer.concat(chunks).toString('utf8', 0, MAX_RESPONSE_BYTES).replaceAll('\0', '\ufffd');
  return Array.from(text).slice(0, SHOWN_LENGTH).join('');
}
