import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(__dirname, '..', '..', '..');
const EXAMPLE = join(ROOT, 'examples', 'grooming');
const MAX_START_MS = 180_000;

/** Packs a copy of the store, and installs the package in a copy of the example. @returns the folder of the latter */
export function installExample(): string {
  const folder = copyPackage(EXAMPLE, mkdtempSync(join(tmpdir(), 'grooming-')));
  // Packing builds dist, from which other programs may run.
  const store = copyPackage(ROOT, mkdtempSync(join(tmpdir(), 'animal-store-')));
  symlinkSync(join(ROOT, 'node_modules'), join(store, 'node_modules'));
  const packed = npm(store, 'run', '-s', 'pack', '--', '--silent', '--pack-destination', folder);
  rmSync(store, { recursive: true });
  const archive = `./${packed.trim().split('\n').at(-1)}`;
  npm(folder, 'install', '--prefer-offline', '--no-audit', '--no-fund', archive);
  return folder;
}

/** Copies what a package has in version control. @returns the copy */
export function copyPackage(from: string, to: string): string {
  cpSync(from, to, {
    recursive: true,
    filter: (path) => !/[/](node_modules|dist|[.]data|[.]git)$/.test(path),
  });
  return to;
}

/** Returns the npm package with the binary of a line of Node.js. */
export function nodePackage(line: string): string {
  const host = `${process.platform}-${process.arch}`;
  return `${host === 'darwin-arm64' ? 'node-bin' : 'node'}-${host}@${line}`;
}

/** Runs npm. @returns its standard output @throws Error with the output if it fails */
export function npm(folder: string, ...args: readonly string[]): string {
  return runIn(folder, 'npm', args);
}

/** Runs a program. @returns its standard output @throws Error with the output if it fails */
export function runIn(folder: string, program: string, args: readonly string[], input = ''): string {
  return execFileSync(program, [...args], { cwd: folder, encoding: 'utf8', input, maxBuffer: 1e8 });
}

export interface StartedExample {
  readonly url: string;
  /** The demo key of the first start; the command that creates one on later starts. */
  readonly key: string;
  stop(): Promise<void>;
}

/** Runs `npm start` in the folder until it has printed its key. */
export async function startExample(folder: string): Promise<StartedExample> {
  const child = spawn('npm', ['start'], { cwd: folder, detached: true, env: { ...process.env, PORT: '0' } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)));
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const deadline = Date.now() + MAX_START_MS;
  for (;;) {
    const [, url] = /listens on (\S+)/.exec(output) ?? [];
    const [, key] = /^ {2}(ask_\w+|.* keys create .*)$/m.exec(output) ?? [];
    if (url !== undefined && key !== undefined) return { url, key, stop: () => stop(child, ended) };
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`npm start failed: ${output}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Sends the signal to npm and its children, as a terminal does. */
async function stop({ pid }: ChildProcess, ended: Promise<void>): Promise<void> {
  if (pid !== undefined) process.kill(-pid, 'SIGINT');
  await ended;
}
