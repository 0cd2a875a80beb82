import { rmSync } from 'node:fs';

export default async function tearDown(): Promise<void> {
  await globalThis.testPooler?.stop();
  const running = globalThis.embeddedTestServer;
  if (!running) return;
  await running.server.stop();
  rmSync(running.directory, { recursive: true, force: true });
}
