import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type HttpResponse, send } from '../../support/http';

/** A response of the service after a deployment changed it. */
export interface BrokenResponse {
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
  /** Returns the path that is sent to the service. */
  path?(path: string, method: string): string;
  /** Changes the headers of the request in place. */
  headers?(headers: Record<string, string | string[] | undefined>, request: BrokenRequest): void;
  /** Changes the response in place. */
  response?(response: BrokenResponse, request: BrokenRequest): void;
  /** Writes the body after the head; false if the proxy must write it. */
  body?(outgoing: ServerResponse, request: BrokenRequest): boolean;
}

export interface BreakingProxy {
  readonly url: string;
  breakage: Breakage;
  /** Requests since the breakage was set. */
  requests: number;
  /** `GET /v1/pets`, since the breakage was set. */
  targets: string[];
  close(): Promise<void>;
}

/** Starts a proxy that forwards to the service and breaks its promises. */
export async function startBreakingProxy(target: string): Promise<BreakingProxy> {
  const server = createServer((incoming, outgoing) => {
    void respond(incoming, outgoing);
  });
  const respond = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { status, headers, text } = await forward(incoming);
    proxy.requests += 1;
    outgoing.statusCode = status;
    for (const [name, value] of Object.entries(headers))
      if (value !== undefined) outgoing.setHeader(name, value);
    const { method = '', url: path = '' } = incoming;
    if (proxy.breakage.body?.(outgoing, { method, path }) !== true) outgoing.end(text);
  };
  const forward = async (incoming: IncomingMessage): Promise<BrokenResponse> => {
    const { method = '', url: path = '' } = incoming;
    const body = Buffer.concat(await incoming.toArray());
    const { host: _, connection: __, ...headers } = incoming.headers;
    proxy.targets.push(`${method} ${path}`);
    proxy.breakage.headers?.(headers, { method, path });
    const good = await send(target, method, proxy.breakage.path?.(path, method) ?? path, {
      headers: headers as Record<string, string>,
      body: body.length > 0 ? body : undefined,
      isDocumented: false,
    });
    const broken = copyOf(good);
    proxy.breakage.response?.(broken, { method, path });
    return broken;
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: BreakingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    breakage: {},
    requests: 0,
    targets: [],
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}

/** Copies a response without the headers that the proxy sets itself. */
function copyOf({ status, headers, text }: HttpResponse): BrokenResponse {
  const { 'content-length': _, connection: __, 'keep-alive': ___, ...others } = headers;
  return { status, headers: others, text };
}
