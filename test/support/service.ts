import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { itWhen } from './it-when';
import { NO_SETTINGS, PATIENCE } from './no-settings';
import { parentOfServers } from './server-folder';

const ROOT = join(__dirname, '..', '..');
export const MAX_START_MS = 180_000;
export const RUN_TYPESCRIPT = ['-r', join(__dirname, 'typescript.cjs')];

/** The processes to kill after a failed spec; they would keep jest from exiting. */
const living = new Set<ChildProcess>();
afterAll(() => {
  for (const child of living) child.kill('SIGKILL');
});

/** The service, or a command, in its own process. */
export interface ServiceProcess {
  readonly child: ChildProcess;
  /** Returns its standard output and standard error. */
  output(): string;
  /** Returns only its standard output. */
  standardOutput(): string;
  /** Resolves with the exit status, or null if a signal ended it. */
  readonly ended: Promise<number | null>;
}

export interface RunningService extends ServiceProcess {
  readonly url: string;
  /** The key that a first start prints. */
  readonly key: string | undefined;
}

/** Creates a folder for DATA_DIR that the server's user can reach, in memory if possible. `remove` deletes it. */
export function dataFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(parentOfServers(), 'animal-store-'));
  chmodSync(path, 0o700);
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/**
 * Runs a program in TypeScript, whose folder is that of the project. The child gets only PATH, HOME and TEST_COMPILED of
 * this process's environment.
 *
 * @param standardOutput a file descriptor to write to; by default the output is collected
 */
export function runProgram(
  program: string,
  environment: Record<string, string>,
  standardOutput?: number,
): ServiceProcess {
  return spawnService([...RUN_TYPESCRIPT, '-e', program], environment, standardOutput);
}

const hasTerminals = String(spawnSync('script', ['--version']).stdout).includes('util-linux');

/** Declares a spec that needs `runOnTerminal`. With CI=true it fails without the program. */
export const itOnTerminal = itWhen(
  hasTerminals || process.env['CI'] === 'true',
  'needs "script" of util-linux',
);

/** Runs Node.js with these arguments on a terminal of its own. Its standard input types; it prints its pid. */
export function runOnTerminal(args: readonly string[], environment: Record<string, string>): ServiceProcess {
  // Without `-opost` a line ends as in a pipe.
  const words = [process.execPath, ...args].map((each) => `'${each.replaceAll("'", `'\\''`)}'`);
  const command = `stty -opost; echo "pid $$"; exec ${words.join(' ')}`;
  const terminal = { TERM: 'xterm', ...environment };
  return spawnService(['-qefc', command, '/dev/null'], terminal, undefined, 'script');
}

/** Runs the built program. */
export function runBuilt(
  program: 'main' | 'cli/main',
  args: readonly string[],
  environment: Record<string, string>,
): ServiceProcess {
  return spawnService([join(ROOT, 'dist', `${program}.js`), ...args], environment);
}

/** Waits until the service has printed its addresses. */
export async function running(service: ServiceProcess): Promise<RunningService> {
  const deadline = Date.now() + MAX_START_MS;
  let url: string | undefined;
  let hasEnded = false;
  void service.ended.then(() => (hasEnded = true));
  while (url === undefined) {
    if (hasEnded || Date.now() > deadline) throw new Error(`the service did not start: ${service.output()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
    // The last line of the banner shows that the banner is complete.
    url = /^ {2}(npm run .* keys create|curl) .*\n\n/m.test(service.output())
      ? /listens on (\S+)/.exec(service.output())?.[1]
      : undefined;
  }
  return { ...service, url, key: /^ {2}(ask_\w+)$/m.exec(service.output())?.[1] };
}

function spawnService(
  args: readonly string[],
  environment: Record<string, string>,
  standardOutputTo?: number,
  program = process.execPath,
): ServiceProcess {
  const { PATH = '', HOME = '', TEST_COMPILED = '' } = process.env;
  const child = spawn(program, args, {
    cwd: ROOT,
    env: { PATH, HOME, TEST_COMPILED, ...NO_SETTINGS, ...PATIENCE, PORT: '0', ...environment },
    stdio: [program === process.execPath ? 'ignore' : 'pipe', standardOutputTo ?? 'pipe', 'pipe'],
  });
  living.add(child);
  child.once('close', () => living.delete(child));
  let all = '';
  let standardOutput = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    all += chunk.toString();
    standardOutput += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => (all += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, ended, output: () => all, standardOutput: () => standardOutput };
}
