import { startApp, type TestApp } from '../support/app';

/** Starts a service that accepts bodies of 1 MiB, with a key that reaches no limit. */
export async function startForCorpora(): Promise<{ app: TestApp; key: string }> {
  const app = await startApp({ bodyLimitBytes: 1_048_576, rateLimitAnonymousPerMinute: 1e6 });
  return { app, key: await app.unlimitedKey() };
}
