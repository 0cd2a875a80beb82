import { startApp, type TestApp } from '../support/app';

/** A service that takes bodies of 1 MiB, and a key that no limit stops. */
export async function startForCorpora(): Promise<{ app: TestApp; key: string }> {
  const app = await startApp({ bodyLimitBytes: 1_048_576, rateLimitAnonymousPerMinute: 1e6 });
  const choice = { plan: 'enterprise', perMinute: 1e6, perDay: 1e6 } as const;
  return { app, key: (await app.createKey({ choice })).key };
}
