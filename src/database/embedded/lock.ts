import { createHash, randomUUID } from 'node:crypto';
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedServerError, errnoOf } from './errors';
import { processFacts } from './process-facts';

/** How long we watch another process take over a stale lock before we call it the owner. */
const TAKEOVER_LIMIT_MS = 5000;
/** How long a command of the command line may keep the lock from others. */
const COMMAND_LIMIT_MS = 30_000;
const COMMAND_POLL_MS = 50;

/** A command of the command line is soon done; a service stays. */
export type Purpose = 'service' | 'command';

interface Holder {
  readonly pid: number;
  readonly purpose: Purpose;
  readonly alive: boolean;
  /** Names this content of the file and no later one. */
  readonly generation: string;
}

/**
 * Takes `directory/app.lock` for this process and returns how to give it back. A lock whose process has ended is
 * taken over; of any number of processes that try so at once, one succeeds. Throws a sentence that names the owner.
 */
export async function takeAppLock(directory: string, purpose: Purpose): Promise<() => void> {
  const file = join(directory, 'app.lock');
  const token = randomUUID();
  const record = JSON.stringify({
    pid: process.pid,
    identity: processFacts(process.pid)?.identity,
    purpose,
    token,
  });
  // Written apart and linked: nobody ever reads half a lock.
  const draft = `${file}.new-${token}`;
  writeFileSync(draft, record, { flag: 'wx', mode: 0o600 });
  try {
    const owner = await occupyAfterCommands(file, draft);
    if (owner !== undefined) throw inUse(directory, owner);
  } finally {
    rmSync(draft, { force: true });
  }
  sweep(file);
  return () => {
    if (readHolder(file)?.generation === generationOf(record)) rmSync(file, { force: true });
  };
}

/** What the living process that holds the lock of `directory` now is there for; undefined where there is none. */
export function lockPurpose(directory: string): Purpose | undefined {
  const holder = readHolder(join(directory, 'app.lock'));
  return holder?.alive === true ? holder.purpose : undefined;
}

/** Like `occupy`, but waits for commands that have the lock: they give it back by themselves. */
async function occupyAfterCommands(file: string, draft: string): Promise<number | undefined> {
  const deadline = Date.now() + COMMAND_LIMIT_MS;
  for (;;) {
    const owner = await occupy(file, draft, Date.now() + TAKEOVER_LIMIT_MS);
    const isCommand = owner !== undefined && owner !== process.pid && readHolder(file)?.purpose !== 'service';
    if (!isCommand || Date.now() > deadline) return owner;
    await sleep(COMMAND_POLL_MS);
  }
}

/** Makes `file` a second name of `draft`; returns the pid of the living process that already has it, if one does. */
async function occupy(file: string, draft: string, deadline: number): Promise<number | undefined> {
  for (;;) {
    if (linked(draft, file)) return undefined;
    const holder = readHolder(file);
    if (holder?.alive === true) return holder.pid;
    if (holder === undefined) continue;
    const claimant = await replace(file, holder, draft, deadline);
    if (claimant === 'replaced') return undefined;
    if (claimant !== 'retry') return claimant;
  }
}

/**
 * Puts `draft` in the place of a dead holder. Between reading a stale lock and replacing it, another process may
 * have done so already, and its lock must survive: so the right to replace one generation is itself a lock, named
 * after it, and whoever has it looks again. The claim becomes the lock by one rename, so it is never given up early.
 */
async function replace(file: string, dead: Holder, draft: string, deadline: number) {
  const claim = `${file}.after-${dead.generation}`;
  const claimant = await occupy(claim, draft, deadline);
  if (claimant !== undefined) {
    if (Date.now() > deadline) return claimant;
    await sleep(10);
    return 'retry';
  }
  if (readHolder(file)?.generation === dead.generation) {
    renameSync(claim, file);
    return 'replaced';
  }
  rmSync(claim, { force: true });
  return 'retry';
}

function linked(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  }
}

function readHolder(file: string): Holder | undefined {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  const [, pid = '', identity = ''] = /^\{"pid":(\d+),(?:"identity":"([^"]*)",)?/.exec(content) ?? [];
  return {
    pid: Number(pid),
    purpose: content.includes('"purpose":"command"') ? 'command' : 'service',
    alive: isAlive(Number(pid), identity),
    generation: generationOf(content),
  };
}

/** A reused pid has another identity; an identity that the system hides counts as the owner's, to be safe. */
function isAlive(pid: number, identity: string): boolean {
  const facts = processFacts(pid);
  return facts !== undefined && (facts.identity === undefined || facts.identity === identity);
}

function generationOf(content: string): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}

/** Removes what processes left behind that were killed on their way to the lock. Called by its owner only. */
function sweep(file: string): void {
  for (const name of readdirSync(dirname(file))) {
    if (!name.startsWith(`${basename(file)}.`)) continue;
    const rest = join(dirname(file), name);
    const holder = readHolder(rest);
    // No pid: another process is writing its draft at this moment.
    if (holder !== undefined && holder.pid > 0 && !holder.alive) rmSync(rest, { force: true });
  }
}

function inUse(directory: string, pid: number): EmbeddedServerError {
  return new EmbeddedServerError(
    `The data folder ${directory} is in use by process ${pid}: stop that process, or set DATA_DIR to another folder.`,
  );
}
