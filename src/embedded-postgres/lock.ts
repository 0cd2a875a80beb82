import { randomUUID } from 'node:crypto';
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedServerError } from './errors';
import { generationOf, type Holder, type Purpose, readHolder, tryLink } from './lock-file';
import { processFacts } from './process-facts';

/** Time limit for another process to take over a stale lock; then it counts as the owner. */
const TAKEOVER_LIMIT_MS = 5000;
/** Longest wait for a command of the command line that holds the lock. */
const COMMAND_LIMIT_MS = 30_000;
const COMMAND_POLL_MS = 50;

/**
 * Takes `directory/app.lock` for this process:
 *
 * 1. Write a draft with the pid, the identity of the process, its purpose and a random token.
 * 2. Link the draft to `app.lock`. This is atomic: it fails if the lock exists, and no process reads half a lock.
 * 3. If the lock exists and its process lives: wait for a command, at most 30 s; throw for a service.
 * 4. If its process has ended, link the draft to a claim, `app.lock.after-<hash of the stale lock>`. The claim is itself
 *    a lock with the same rules, so of concurrent processes exactly one gets it.
 * 5. Read the lock again. If it is still the same stale lock, rename the claim to `app.lock`: the lock is taken. If
 *    another process has replaced it in the meantime, remove the claim and begin again at step 2.
 * 6. Remove the draft, and the drafts and claims of processes that have ended.
 *
 * @returns a function that releases the lock, unless another process has taken it over
 * @throws EmbeddedServerError that names the owner's pid
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

/** Returns the purpose of the living process that holds the lock of `directory`; undefined if the lock is free. */
export function lockPurpose(directory: string): Purpose | undefined {
  const holder = readHolder(join(directory, 'app.lock'));
  return holder?.alive === true ? holder.purpose : undefined;
}

/** Occupies the lock, but waits while a command holds it (step 3). */
async function occupyAfterCommands(file: string, draft: string): Promise<number | undefined> {
  const deadline = Date.now() + COMMAND_LIMIT_MS;
  for (;;) {
    const owner = await occupy(file, draft, Date.now() + TAKEOVER_LIMIT_MS);
    const isCommand = owner !== undefined && owner !== process.pid && readHolder(file)?.purpose !== 'service';
    if (!isCommand || Date.now() > deadline) return owner;
    await sleep(COMMAND_POLL_MS);
  }
}

/** Links `draft` to `file` (steps 2 to 5). Returns the pid of the living owner if another process has it. */
async function occupy(file: string, draft: string, deadline: number): Promise<number | undefined> {
  for (;;) {
    if (tryLink(draft, file)) return undefined;
    const holder = readHolder(file);
    if (holder?.alive === true) return holder.pid;
    if (holder === undefined) continue;
    const claimant = await replace(file, holder, draft, deadline);
    if (claimant === 'replaced') return undefined;
    if (claimant !== 'retry') return claimant;
  }
}

/**
 * Replaces the lock of a process that has ended (steps 4 and 5). Without the claim, two processes could read the same
 * stale lock, and the second could replace the new lock of the first.
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

/** Removes the drafts and claims of processes that have ended (step 6). The caller must hold the lock. */
function sweep(file: string): void {
  for (const name of readdirSync(dirname(file))) {
    if (!name.startsWith(`${basename(file)}.`)) continue;
    const rest = join(dirname(file), name);
    const holder = readHolder(rest);
    // A draft without a pid is being written by another process.
    if (holder !== undefined && holder.pid > 0 && !holder.alive) rmSync(rest, { force: true });
  }
}

function inUse(directory: string, pid: number): EmbeddedServerError {
  return new EmbeddedServerError(
    `The data folder ${directory} is in use by process ${pid}: stop that process, or set DATA_DIR to another folder.`,
  );
}
