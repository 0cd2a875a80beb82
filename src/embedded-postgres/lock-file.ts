import { createHash } from 'node:crypto';
import { linkSync, readFileSync } from 'node:fs';
import { errnoOf } from './errors';
import { processFacts } from './process-facts';

/** A command of the command line ends soon, so other processes wait for it. */
export type Purpose = 'service' | 'command';

/** The process that a lock file names. */
export interface Holder {
  readonly pid: number;
  readonly purpose: Purpose;
  readonly alive: boolean;
  /** A hash of the file's content. Each lock has its own, because each has a random token. */
  readonly generation: string;
}

/** Links `draft` to `file`. Returns false if `file` exists. */
export function tryLink(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Returns undefined if there is no lock. */
export function readHolder(file: string): Holder | undefined {
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

/** A reused pid has another identity. If the system hides the identity, the owner counts as alive. */
function isAlive(pid: number, identity: string): boolean {
  const facts = processFacts(pid);
  return facts !== undefined && (facts.identity === undefined || facts.identity === identity);
}

export function generationOf(content: string): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}
