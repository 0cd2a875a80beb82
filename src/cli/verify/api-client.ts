import { isInt64 } from '../../http/int64';
import { explainFetch } from './explain-fetch';
import { type Answer, readAnswer, retryAfterOf } from './answer';
import { oneLine } from './faults';
import { memberOf } from './json-value';
import { VerifyError } from './verify.error';

const LONGEST_ANSWER_MS = 30_000;
const LONGEST_WAIT_SECONDS = 120;
const MOST_ATTEMPTS = 4;
const FIRST_REFUSAL = 300;
const TOO_MANY_REQUESTS = 429;

/** What a verification needs of the world besides the deployment. */
export interface Outside {
  sleep(milliseconds: number): Promise<void>;
  now(): number;
  /** Says something that belongs to no promise. */
  tell(line: string): void;
}

export interface RequestOptions {
  /** In place of the key; null sends none. */
  readonly authorization?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it stands, as JSON unless the headers say otherwise. */
  readonly body?: string;
  /** False: a 429 is the answer that is wanted. */
  readonly isPatient?: boolean;
}

export interface CreatedAnimal {
  readonly id: bigint;
  readonly name: string;
}

/** Sends requests to one deployment, keeps every answer, and comes back after a 429 no earlier than it is told to. */
export class ApiClient {
  /** Every answer in its order, those that were waited out included. */
  readonly answers: Answer[] = [];
  /** Every animal that the deployment says it added, wanted or not, whatever the status of the answer. */
  readonly created: CreatedAnimal[] = [];
  private readonly asked = new Map<string, Promise<Answer>>();

  constructor(
    readonly baseUrl: string,
    private readonly key: string,
    private readonly outside: Outside,
  ) {}

  /** Asks each question once: several promises speak of one answer. */
  get(path: string, options: RequestOptions = {}): Promise<Answer> {
    const question = `${path} ${options.authorization}`;
    const answer = this.asked.get(question) ?? this.send('GET', path, options);
    this.asked.set(question, answer);
    return answer;
  }

  post(path: string, body: string, options: RequestOptions = {}): Promise<Answer> {
    return this.send('POST', path, { ...options, body });
  }

  async send(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.attempt(method, path, options);
      if (answer.status !== TOO_MANY_REQUESTS || options.isPatient === false) return answer;
      await this.backOff(answer, attempt);
    }
  }

  private async attempt(method: string, path: string, options: RequestOptions): Promise<Answer> {
    const response = await this.fetch(method, path, options);
    try {
      const answer = await readAnswer(`${method} ${path}`, response, this.outside.now());
      this.answers.push(answer);
      if (method === 'POST') this.noteCreated(answer, answer.body);
      return answer;
    } catch (error) {
      if (method === 'POST') this.noteCreated(response, undefined);
      throw error;
    }
  }

  /** Where the body does not tell the id, `Location` does: what was added must be named either way. */
  private noteCreated({ status, headers }: Pick<Answer, 'status' | 'headers'>, body: unknown): void {
    const [, located] = /\/pets\/(-?\d{1,19})$/.exec(headers.get('location') ?? '') ?? [];
    const told = memberOf(body, 'id');
    const id = isInt64(told) || located === undefined ? told : BigInt(located);
    const name = memberOf(body, 'name');
    if (status < FIRST_REFUSAL && isInt64(id)) {
      this.created.push({ id, name: typeof name === 'string' ? name : '' });
    }
  }

  /** Redirects are not followed: the key is for this deployment alone. */
  private async fetch(method: string, path: string, options: RequestOptions): Promise<Response> {
    const { authorization = `Bearer ${this.key}`, body, headers } = options;
    try {
      return await fetch(`${this.baseUrl}${path}`, {
        method,
        headers: {
          ...(authorization === null ? {} : { authorization }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        redirect: 'manual',
        signal: AbortSignal.timeout(LONGEST_ANSWER_MS),
        ...(body === undefined ? {} : { body }),
      });
    } catch (error) {
      throw new VerifyError(explainFetch(this.baseUrl, error));
    }
  }

  /** Waits as `Retry-After` says, or where it says nothing 1, 2, 4 s. */
  private async backOff(answer: Answer, attempt: number): Promise<void> {
    const { request, text } = answer;
    const seconds = retryAfterOf(answer) ?? 2 ** (attempt - 1);
    if (attempt === MOST_ATTEMPTS || seconds > LONGEST_WAIT_SECONDS) {
      throw new VerifyError(
        `${request} is answered 429 ${oneLine(text)}; the key may come back in ${seconds} s: wait, or give one with room.`,
      );
    }
    this.outside.tell(`429 for ${request}: going on in ${seconds} s.`);
    await this.outside.sleep(seconds * 1_000);
  }
}
