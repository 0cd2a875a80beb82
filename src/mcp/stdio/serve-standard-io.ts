import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { createAgentServer } from '../agent-server';
import { loadSdk } from '../sdk';
import { exactMessages } from './exact-messages';
import { type Deployment, HttpGateway } from './http.gateway';

/**
 * Serves the tools of a deployment over standard input and output, until the input ends. Every call is a request of HTTP.
 *
 * @throws UserError if the deployment or its document cannot be read, or the key is not valid
 */
export async function serveStandardIo(
  deployment: Deployment,
  input: Readable,
  output: Writable,
): Promise<void> {
  const sdk = loadSdk();
  const stdio: typeof import('@modelcontextprotocol/server/stdio') = require('@modelcontextprotocol/server/stdio');
  const gateway = await HttpGateway.open(deployment, randomUUID());
  const messages = exactMessages(input);
  const server = stdio.serveStdio(() => createAgentServer(sdk, gateway), {
    transport: new stdio.StdioServerTransport(messages, output),
    maxSubscriptions: 0,
  });
  await once(messages, 'close');
  await server.close();
}
