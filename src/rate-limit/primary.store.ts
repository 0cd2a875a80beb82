import { LRUCache } from 'lru-cache';
import { Batches } from '../platform/database/batches';
import type { Channel } from '../platform/runtime/channel';
import type { Clock } from '../platform/runtime/clock';
import { SECOND_MS } from '../platform/runtime/time';
import type { Limits } from './limits';
import {
  type Counters,
  type Decision,
  type OwnerLimits,
  RateLimitStore,
  type Standing,
  type Usage,
} from './rate-limit.store';

/** A request of a worker, as the parameters of `Limits`. */
type Question = readonly [kind: 'take' | 'look', owner: string, limits: OwnerLimits, keyId?: string];

/** A decision, or why there is none. Each question has its own: a batch that failed would count the others again. */
type Answer = (Decision & Standing) | { readonly error: string };

const QUESTIONS = 'limits';
const MAX_WAIT_MS = 5 * SECOND_MS;
/** Owners whose windows a worker shows on responses that are not counted. */
const MAX_KNOWN = 10_000;

/** The counters of a worker: the primary process decides on the requests of one turn of the event loop in one message. */
export class PrimaryStore extends RateLimitStore implements Pick<Limits, 'take' | 'look'> {
  private readonly latest = new LRUCache<string, Counters>({ max: MAX_KNOWN });
  private readonly asked: Batches<Question, Answer>;

  constructor(clock: Clock, primary: Channel) {
    super(clock);
    this.asked = new Batches((questions) => primary.ask(QUESTIONS, questions), {
      // Decisions that arrive before the response are the next message.
      maxRunning: 1,
      maxWaitMs: MAX_WAIT_MS,
    });
  }

  override take(owner: string, limits: OwnerLimits, keyId?: string): Promise<Decision> {
    return this.ask('take', owner, limits, keyId);
  }

  override look(owner: string, limits: OwnerLimits, keyId?: string): Promise<Standing> {
    return this.ask('look', owner, limits, keyId);
  }

  protected override known(owner: string): Counters {
    return this.latest.get(owner) ?? super.known(owner);
  }

  private async ask(...question: Question): Promise<Decision & Standing> {
    const answer = await this.asked.add(question);
    if ('error' in answer) throw new Error(answer.error);
    const { minute, day } = answer.windows;
    this.latest.set(question[1], { minute: counterOf(minute), day: counterOf(day) });
    return answer;
  }
}

export function decideFor(worker: Channel, limits: Limits): void {
  const decide = async ([kind, owner, of, keyId]: Question) => limits[kind](owner, of, keyId ?? undefined);
  worker.handle(QUESTIONS, (questions: readonly Question[]) =>
    Promise.all(questions.map((each) => decide(each).catch((error: unknown) => ({ error: String(error) })))),
  );
}

function counterOf({ limit, remaining, resetAt }: Usage = { limit: 0, remaining: 0, resetAt: 0 }) {
  return { used: limit - remaining, endsAt: resetAt };
}
