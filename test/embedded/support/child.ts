/** The other process: reads one JSON command per line of its standard input and writes one JSON line for each. */
import { createInterface } from 'node:readline';
import { startEmbedded, type EmbeddedOptions, type EmbeddedServer } from '../../../src/embedded-postgres';
import { takeAppLock } from '../../../src/embedded-postgres/lock';

interface Command {
  readonly start?: EmbeddedOptions;
  readonly lock?: string;
  readonly release?: true;
}

let server: EmbeddedServer | undefined;
let release: (() => void) | undefined;

async function obey(command: Command): Promise<object> {
  if (command.start !== undefined) {
    server = await startEmbedded(command.start);
    return { url: server.url() };
  }
  if (command.lock !== undefined) {
    release = await takeAppLock(command.lock, 'service');
    return { won: true };
  }
  release?.();
  await server?.stop();
  return { released: true };
}

void (async () => {
  for await (const line of createInterface({ input: process.stdin })) {
    const response = await obey(JSON.parse(line)).catch((error: unknown) => ({ refusal: String(error) }));
    process.stdout.write(`${JSON.stringify(response)}\n`);
  }
})();
