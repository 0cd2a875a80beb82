/** The other process: reads one JSON command per line of its standard input and writes one JSON line for each. */
import { createInterface } from 'node:readline';
import type { EmbeddedOptions, EmbeddedServer } from '../../../src/embedded-postgres';

const [, , source = '../../../src/embedded-postgres'] = process.argv;
// oxlint-disable-next-line typescript/no-require-imports -- A copy of the folder, in another installation.
const { startEmbedded } = require(source) as typeof import('../../../src/embedded-postgres');

let server: EmbeddedServer | undefined;

async function obey({ start }: { start?: EmbeddedOptions }): Promise<object> {
  if (start !== undefined) {
    server = await startEmbedded(start);
    return { url: server.url() };
  }
  await server?.stop();
  return {};
}

void (async () => {
  for await (const line of createInterface({ input: process.stdin })) {
    const response = await obey(JSON.parse(line)).catch((error: unknown) => ({ refusal: String(error) }));
    process.stdout.write(`${JSON.stringify(response)}\n`);
  }
})();
