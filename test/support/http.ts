import type { Agent } from 'node:http';
import { connect } from 'node:net';
import { ApiDocument } from '../../src/testing/api-document';
import { sendRequest, type TestRequest, type TestResponse } from '../../src/testing/http-client';
import { readCommittedDocument } from './committed-document';

export type HttpResponse = TestResponse;

export interface RequestOptions extends Omit<TestRequest, 'method'> {
  readonly agent?: Agent;
  /** False if the response does not come from the complete service on its own port. */
  readonly isDocumented?: boolean;
}

declare global {
  var documentOfWorker: ApiDocument | undefined;
}

/** All spec files of a worker share it: it compiles each schema once. */
const document = (globalThis.documentOfWorker ??= new ApiDocument(readCommittedDocument()));
export const rejectUndocumented = document.require.bind(document);

/** Sends one request. Throws if openapi.json does not document the response. */
export async function send(
  baseUrl: string,
  method: string,
  path: string,
  { agent, isDocumented = true, ...request }: RequestOptions = {},
): Promise<HttpResponse> {
  const response = await sendRequest(baseUrl, path, { ...request, method }, agent);
  if (isDocumented) document.require(method, path, response);
  return response;
}

/**
 * Sends these bytes and returns everything that the service writes to the socket. Throws if openapi.json does not
 * document the first response.
 */
export function sendRaw(baseUrl: string, bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(bytes));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString();
      try {
        rejectUndocumentedRaw(bytes.toString('latin1'), text);
        resolve(text);
      } catch (error) {
        reject(error);
      }
    });
  });
}

/** Compares the first response on a socket with openapi.json. */
export function rejectUndocumentedRaw(sent: string, received: string): void {
  const [, method, target] = /^([A-Z]+) (\S+) HTTP\/1\.1\r\n/.exec(sent) ?? [];
  const [, status, head, rest = ''] =
    /^HTTP\/1\.1 ([2-5]\d\d) [^\r]*\r\n(.*?)\r\n\r\n(.*)$/s.exec(received) ?? [];
  if (method === undefined || target === undefined || head === undefined) return;
  const headers = Object.fromEntries(
    head
      .split('\r\n')
      .map((line) => [line.split(':', 1).join().toLowerCase(), line.replace(/^[^:]*: ?/, '')]),
  );
  const body = Buffer.from(rest).subarray(0, Number(headers['content-length']));
  const response = { status: Number(status), headers, text: body.toString() };
  document.require(method, target, response);
}
