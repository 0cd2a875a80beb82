import type { PlanChoice } from '../../../src/accounts';
import { DEFAULT_SCOPES } from '../../../src/app/store';
import type { Extension } from '../../../src';
import { startApp, type TestApp } from '../../support/app';
import { runCli } from '../../support/cli';
import { type Breakage, type BreakingProxy, startBreakingProxy } from './breaking-proxy';

/** A service behind a proxy that can break it, with the command that checks it. */
export interface Verified {
  readonly app: TestApp;
  readonly proxy: BreakingProxy;
  /** Creates a key with all scopes. */
  createKey(choice?: PlanChoice): Promise<string>;
  /** Creates a key with the scopes of a new key. */
  createBuyerKey(): Promise<string>;
  /** Sets the clock of the service to the system clock, from which Node makes `Date`. */
  syncClock(): void;
  /** Runs the command with these arguments, while the proxy breaks the service. */
  run(args: readonly string[], breakage?: Breakage, environment?: Record<string, string>): Promise<Run>;
  close(): Promise<void>;
}

export interface Run {
  readonly status: number;
  /** Standard output; `all` includes standard error. */
  readonly out: string;
  readonly all: string;
  readonly lines: readonly string[];
  /** The sentences below the lines that begin with FAIL. */
  readonly broken: readonly string[];
}

export async function startVerified(extensions: readonly Extension[] = []): Promise<Verified> {
  const app = await startApp({}, { extensions });
  const syncClock = () => app.clock.advance({ seconds: Math.round((Date.now() - app.clock.now()) / 1_000) });
  syncClock();
  const proxy = await startBreakingProxy(app.url);
  return {
    app,
    proxy,
    createKey: async (choice) => (await app.createKey(choice && { choice })).key,
    createBuyerKey: async () => (await app.createKey({ scopes: DEFAULT_SCOPES })).key,
    syncClock,
    run: (args, breakage = {}, environment = {}) => {
      Object.assign(proxy, { breakage, requests: 0, targets: [] });
      return runVerify(args, environment);
    },
    close: async () => {
      await proxy.close();
      await app.close();
    },
  };
}

async function runVerify(args: readonly string[], environment: Record<string, string> = {}): Promise<Run> {
  const { status, out, all } = await runCli(['verify', ...args], environment);
  const lines = out.split('\n');
  const broken = lines.filter((line) => line.startsWith('     ')).map((line) => line.trim());
  return { status, out, all, lines, broken };
}
