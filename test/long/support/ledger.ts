import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type HttpResponse, type RequestOptions, send } from '../../support/http';
import { lostConnection } from './event-feed';

const RETRY_AFTER_MS = 50;

/** Is part of the name of a changed animal. */
const CHANGED = ', changed';

/** An animal in the database; a change gives it another name. */
export type AnimalState = 'absent' | 'added' | 'changed';

/** The outcome of a write as its client knows it; `failed` excludes an effect. */
type Outcome = 'done' | 'failed' | 'unknown';

export function changedName(name: string): string {
  return `${name}${CHANGED}`;
}

/** The animals of a test by their unique first names, with the states in which each may be. */
export class AnimalLedger {
  private readonly states = new Map<string, ReadonlySet<AnimalState>>();

  /** Records a write that makes the animal `became`. A client writes an animal only after its last response. */
  record(name: string, became: AnimalState, outcome: Outcome): void {
    const before = this.states.get(name) ?? new Set<AnimalState>(['absent']);
    const after = outcome === 'unknown' ? [...before, became] : [became];
    this.states.set(name, outcome === 'failed' ? before : new Set(after));
  }

  /** Returns the animals whose state in the database does not follow from the responses. */
  faults(stored: readonly string[]): string[] {
    const found = new Map<string, AnimalState[]>();
    for (const each of stored) {
      const name = each.endsWith(CHANGED) ? each.slice(0, -CHANGED.length) : each;
      found.set(name, [...(found.get(name) ?? []), name === each ? 'added' : 'changed']);
    }
    return [...new Set([...this.states.keys(), ...found.keys()])].flatMap((name) => {
      const states = found.get(name) ?? ['absent'];
      const [state = 'absent'] = states;
      const isExplained = states.length === 1 && this.states.get(name)?.has(state);
      return isExplained ? [] : [`${name}: ${states.join()}`];
    });
  }
}

/** Repeats a POST with one Idempotency-Key until it is acknowledged, or rejected for good. @param url of any instance */
export async function postOnce(
  url: () => string,
  key: string,
  path: string,
  body: RequestOptions['body'],
): Promise<HttpResponse> {
  const headers = { 'idempotency-key': randomUUID() };
  for (;;) {
    // A new connection: a killed service has closed the earlier ones.
    const options = { key, body, headers, agent: new Agent() };
    const response = await send(url(), 'POST', path, options).catch(lostConnection);
    const isFinal = response && response.status !== 503 && response.json.code !== 'idempotency_key_in_use';
    if (isFinal) return response;
    await sleep(RETRY_AFTER_MS);
  }
}
