import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** A receiver of traces in OTLP over HTTP, as JSON. */
export interface OtlpReceiver {
  readonly url: string;
  /** As OTLP/JSON has them; `service` is `service.name` and `service.instance.id` of the resource. */
  readonly spans: readonly any[];
  close(): void;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: any[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const isTrace = request.url === '/v1/traces' && request.headers['content-type'] === 'application/json';
    const body: any = await json(request);
    if (isTrace) spans.push(...spansIn(body));
    response.writeHead(isTrace ? 200 : 404, { 'content-type': 'application/json' }).end('{}');
  };
  const server = createServer((request, response) => void receive(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function spansIn({ resourceSpans }: any): any[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }: any) => {
    const valueOf = (name: string) =>
      resource.attributes.find(({ key }: any) => key === name)?.value.stringValue;
    const service = `${valueOf('service.name')} ${valueOf('service.instance.id')}`;
    return scopeSpans.flatMap(({ spans }: any) => spans.map((span: any) => ({ ...span, service })));
  });
}
