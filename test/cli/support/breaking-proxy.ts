import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Answer, send } from '../../support/http';

/** What a deployment made of the service's answer. */
export interface BrokenAnswer {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

export interface BrokenRequest {
  readonly method: string;
  readonly path: string;
}

export interface Breakage {
  /** The address that the service is asked for, in place of the one that came. */
  path?(path: string): string;
  answer?(answer: BrokenAnswer, request: BrokenRequest): void;
  /** Writes the body itself, after the head; false where it leaves that to the proxy. */
  body?(outgoing: ServerResponse, request: BrokenRequest): boolean;
}

export interface BreakingProxy {
  readonly url: string;
  breakage: Breakage;
  /** How many requests came since the breakage was set. */
  requests: number;
  close(): Promise<void>;
}

/** Stands before the service and breaks a promise of it: a deployment whose module somebody has changed badly. */
export async function startBreakingProxy(target: string): Promise<BreakingProxy> {
  const server = createServer((incoming, outgoing) => {
    void answer(incoming, outgoing);
  });
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { status, headers, text } = await forward(incoming);
    proxy.requests += 1;
    outgoing.writeHead(status, withoutUndefined(headers));
    const { method = '', url: path = '' } = incoming;
    if (proxy.breakage.body?.(outgoing, { method, path }) !== true) outgoing.end(text);
  };
  const forward = async (incoming: IncomingMessage): Promise<BrokenAnswer> => {
    const { method = '', url: path = '' } = incoming;
    const body = Buffer.concat(await incoming.toArray());
    const { host: _, connection: __, ...headers } = incoming.headers;
    const good = await send(target, method, proxy.breakage.path?.(path) ?? path, {
      headers: headers as Record<string, string>,
      body: body.length > 0 ? body : undefined,
    });
    const broken = copyOf(good);
    proxy.breakage.answer?.(broken, { method, path });
    return broken;
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: BreakingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    breakage: {},
    requests: 0,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}

/** Lengths and connections are the proxy's own. */
function copyOf({ status, headers, text }: Answer): BrokenAnswer {
  const { 'content-length': _, connection: __, 'keep-alive': ___, ...others } = headers;
  return { status, headers: others, text };
}

function withoutUndefined(headers: BrokenAnswer['headers']): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string | string[]] => entry[1] !== undefined),
  );
}
