import { rmSync } from 'node:fs';

export default async function tearDown(): Promise<void> {
  rmSync(process.env['TEST_COMPILED']!, { recursive: true });
  await globalThis.testPooler?.stop();
  const running = globalThis.embeddedTestServer;
  if (!running) return;
  await running.server.stop();
  rmSync(running.directory, { recursive: true, force: true });
}
