import type { PlanChoice } from '../../../src/auth';
import { startApp, type TestApp } from '../../support/app';
import { runCli } from '../../support/cli';
import { type Breakage, type BreakingProxy, startBreakingProxy } from './breaking-proxy';

/** The service behind a proxy that can break it, and the command that looks at it. */
export interface Verified {
  readonly app: TestApp;
  readonly proxy: BreakingProxy;
  createKey(choice?: PlanChoice): Promise<string>;
  /** The command with these arguments, while the service is broken in this way. */
  run(args: readonly string[], breakage?: Breakage): Promise<Run>;
  close(): Promise<void>;
}

export interface Run {
  readonly status: number;
  /** Standard output; `all` has what went to standard error too. */
  readonly out: string;
  readonly all: string;
  readonly lines: readonly string[];
  /** What stands behind each FAIL. */
  readonly broken: readonly string[];
}

export async function startVerified(): Promise<Verified> {
  const app = await startApp();
  // The Date header is Node's: the service's clock must agree with it.
  app.clock.advance({ seconds: Math.round((Date.now() - app.clock.now()) / 1_000) });
  const proxy = await startBreakingProxy(app.url);
  return {
    app,
    proxy,
    createKey: async (choice) => (await app.createKey(choice && { choice })).key,
    run: (args, breakage = {}) => {
      Object.assign(proxy, { breakage, requests: 0 });
      return runVerify(args);
    },
    close: async () => {
      await proxy.close();
      await app.close();
    },
  };
}

async function runVerify(args: readonly string[]): Promise<Run> {
  const { status, out, all } = await runCli(['verify', ...args]);
  const lines = out.split('\n');
  const broken = lines.filter((line) => line.startsWith('FAIL ')).map((line) => line.slice('FAIL '.length));
  return { status, out, all, lines, broken };
}
