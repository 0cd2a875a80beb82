import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app';

/** Where a file of the corpora is; they are data of others and lie outside the project. */
export function corpus(...path: string[]): string {
  const { CORPORA_DIR = '' } = process.env;
  if (!existsSync(CORPORA_DIR)) {
    throw new Error(
      `There are no corpora in "${CORPORA_DIR}": set CORPORA_DIR to the folder that holds them.`,
    );
  }
  return join(CORPORA_DIR, ...path);
}

/** A service that takes bodies of 1 MiB, and a key that no limit stops. */
export async function startForCorpora(): Promise<{ app: TestApp; key: string }> {
  const app = await startApp({ bodyLimitBytes: 1_048_576, rateLimitAnonymousPerMinute: 1e6 });
  const choice = { plan: 'enterprise', perMinute: 1e6, perDay: 1e6 } as const;
  return { app, key: (await app.createKey({ choice })).key };
}
