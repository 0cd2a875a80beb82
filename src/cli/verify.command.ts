import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { UserError } from '../platform/errors/user-error';
import { Api, codeOf, shortened, shown } from '../testing/api';
import { ApiDocument, isList, readCommittedDocument } from '../testing/api-document';
import { Conformance } from '../testing/conformance';
import { HttpClient, type TestResponse } from '../testing/http-client';
import { isMembers, jsonIn, jsonOf, valueAt } from '../testing/json';
import { checkPromises } from '../testing/promises/promises';
import { Resources } from '../testing/resources';
import { baseUrl } from './base-url';
import { printLine } from './output';

const FROM_INPUT = '-';
/** Far longer than a key, so that a wrong file on standard input is not read to its end. */
const MAX_INPUT_CHARACTERS = 10_000;
const MAX_LIMIT = 10_000;
const BATCH_SIZE = 10;

interface VerifyOptions {
  readonly baseUrl: string;
  readonly key?: string;
  readonly exhaust?: true;
  readonly json?: true;
}

interface Verdict {
  readonly promise: string;
  readonly faults: readonly string[];
}

export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .description(
      'check over HTTP that a deployment keeps the promises of the API, those of its extensions included',
    )
    .requiredOption(
      '--base-url <url>',
      'base address of the API, such as https://api.example.com/v1',
      baseUrl,
    )
    .addOption(
      new Option(
        '--key <key>',
        'API key with the scopes of a new key, and pets:manage to remove the added animals; a Free plan is enough. With - the key is read from standard input: other users can see arguments',
      ).env('ANIMAL_STORE_KEY'),
    )
    .option('--exhaust', 'also use up the rate limit of the key, to check the 429')
    .option('--json', 'print one JSON document')
    .action(run);
}

async function run(
  { baseUrl: url, key: given, exhaust, json }: VerifyOptions,
  command: Command,
): Promise<void> {
  const key = await readKey(given, command);
  const deployment = new Deployment(url);
  const verdicts: Verdict[] = [];
  const report = (promise: string, faults: readonly string[]): void => {
    verdicts.push({ promise, faults });
    if (!json)
      printLine(faults.length === 0 ? `ok   ${promise}` : [`FAIL ${promise}:`, ...faults].join('\n     '));
  };
  const api = await apiOf(deployment, key);
  const resources = new Resources(api);
  let stopped: UserError | undefined;
  let created: string[] | undefined;
  try {
    await checkPromises(api, resources, report);
    created = resources.created.map(({ path }) => path);
    await resources.removeAll();
    if (exhaust) report('a request over the limit gets 429, not before Retry-After', await useUpLimit(api));
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    stopped = error;
  }
  created ??= resources.created.map(({ path }) => path);
  // After an early end the rest is removed as far as the deployment allows.
  if (stopped) await resources.removeAll().catch(() => undefined);
  const left = resources.created.map(({ path }) => path);
  const skipped = api.operations.filter((each) => !api.succeeded.has(each)).map(({ title }) => title);
  const { requests } = deployment;
  const broken = verdicts.filter(({ faults }) => faults.length > 0).length;
  if (json) {
    const end = stopped && { stopped: stopped.message };
    printLine(jsonOf({ baseUrl: url, verdicts, skipped, requests, created, left, ...end }));
  } else {
    const kept = verdicts.length - broken;
    printLine(
      `\n${verdicts.length} promises: ${kept} kept, ${broken} broken. ${requests} requests to ${url}.`,
    );
    if (skipped.length > 0)
      printLine(`Without a successful response, so only their errors were checked: ${skipped.join('; ')}.`);
    printLine(
      left.length === 0
        ? `Removed or cancelled all ${created.length} resources again.`
        : `Left there: ${left.join(', ')}.`,
    );
  }
  if (stopped) throw stopped;
  if (broken > 0) throw new UserError(`${url} breaks ${broken} of its promises.`);
}

/** A running store at a base URL. */
class Deployment {
  private readonly client: HttpClient;
  readonly path: string;
  requests = 0;

  constructor(readonly url: string) {
    const { origin, pathname } = new URL(url);
    this.client = new HttpClient(origin);
    this.path = pathname;
  }

  /** @throws UserError if the response does not arrive completely */
  send: HttpClient['send'] = async (path, request) => this.sendTo(`${this.path}${path}`, request);

  /** @param path from the root */
  async sendTo(path: string, request: Parameters<HttpClient['send']>[1] = {}): Promise<TestResponse> {
    this.requests += 1;
    try {
      return await this.client.send(path, request);
    } catch (error) {
      const reason = shortened(error instanceof Error ? error.message || String(error) : String(error));
      const what = `${request.method ?? 'GET'} ${path}`;
      throw new UserError(
        `${this.url} gives no complete response to ${what} (${reason}): check --base-url, and that the deployment runs.`,
      );
    }
  }

  async wait(seconds: number): Promise<void> {
    process.stderr.write(`The limit of the key is used up. Continuing in ${seconds} s.\n`);
    await sleep(seconds * 1_000);
  }

  /** `Date`, or our own time if the deployment sends none. */
  now({ headers }: TestResponse): number {
    const date = Date.parse(headers.date ?? '');
    return Math.floor((Number.isNaN(date) ? Date.now() : date) / 1_000);
  }
}

/** @throws UserError if nothing can be checked: the deployment does not respond, or rejects the key */
async function apiOf(deployment: Deployment, key: string): Promise<Api> {
  const own = await deployment.send('/key', { key });
  if (own.status === 401 || own.status === 403) {
    throw new UserError(
      `The deployment rejects the key (${own.status} ${codeOf(own)}): give one with the scopes of a new key.`,
    );
  }
  const { status, text } = await deployment.sendTo(`${deployment.path.replace(/\/v1$/, '')}/openapi.json`);
  const document = new ApiDocument(withExtensions(status === 200 ? jsonIn(text) : undefined));
  const listed = valueAt(jsonIn(own.text), 'scopes');
  const scopes = Array.isArray(listed)
    ? listed.map(String)
    : document.operations.flatMap((each) => each.scopes);
  return new Api(document, deployment, new Conformance(document, { isStrict: false }), key, scopes, false);
}

/** Returns the document of this version, with the operations that only the deployment's document has. */
function withExtensions(deployed: unknown): string {
  const committed = readCommittedDocument();
  const own = jsonIn(committed);
  if (!isMembers(deployed) || !isMembers(own)) return committed;
  return jsonOf(merged(own, deployed));
}

/** Adds the members that only the other object has, in objects within it, too. */
function merged(own: unknown, other: unknown): unknown {
  if (!isMembers(own) || !isMembers(other)) return own;
  const members = Object.entries(other).map(([name, value]) => [
    name,
    name in own ? merged(own[name], value) : value,
  ]);
  return { ...own, ...Object.fromEntries(members) };
}

/** Sends requests until the response is 429; in concurrent batches, so that the minute does not end first. */
async function useUpLimit(api: Api): Promise<string[]> {
  const list = api.operations.find((each) => isList(each) && api.may(each) && !each.path.includes('{'));
  if (!list) return ['No list can be read with this key.'];
  const send = () => api.target.send(`${list.path}?limit=1`, { key: api.key });
  let last = await send();
  const limit = Number(last.headers['x-ratelimit-limit']);
  if (limit > MAX_LIMIT) {
    throw new UserError(
      `The limit of ${limit} requests is too large for --exhaust. Use a key of a smaller plan.`,
    );
  }
  for (let sent = 1; sent <= 2 * limit + BATCH_SIZE && last.status !== 429; sent += BATCH_SIZE) {
    const responses = await Promise.all(Array.from({ length: BATCH_SIZE }, send));
    last = responses.find(({ status }) => status === 429) ?? last;
  }
  const { headers, status } = last;
  const after = Number(headers['retry-after']);
  const ahead = Number(headers['x-ratelimit-reset']) - api.target.now(last);
  const uncounted = await api.target.send('/key', { key: api.key });
  return [
    status === 429 && /^(rate_limit_exceeded|daily_quota_exceeded)$/.test(String(codeOf(last)))
      ? []
      : `${list.title} responds ${status} ${codeOf(last)} over the limit, and must respond 429 rate_limit_exceeded.`,
    headers['x-ratelimit-remaining'] === '0'
      ? []
      : `${list.title} has X-RateLimit-Remaining ${shown(headers['x-ratelimit-remaining'])} with 429.`,
    // `Date` is rounded down to the second.
    after >= 1 && after + 1 >= ahead
      ? []
      : `${list.title} has Retry-After ${shown(headers['retry-after'])}, and the window ends in ${ahead} s.`,
    uncounted.status === 200
      ? []
      : `GET /v1/key responds ${uncounted.status} over the limit, and must respond 200.`,
  ].flat();
}

/** Reads the key. @param given value of `--key` or ANIMAL_STORE_KEY */
async function readKey(given: string | undefined, command: Command): Promise<string> {
  let key = given ?? '';
  if (key === FROM_INPUT) {
    key = '';
    for await (const chunk of process.stdin) {
      key += String(chunk);
      if (key.length > MAX_INPUT_CHARACTERS) break;
    }
    key = key.trim();
  }
  if (key === '') {
    command.error(
      'error: verify needs an API key: set ANIMAL_STORE_KEY, or give --key - and the key on standard input.',
    );
  }
  // Commander would print a value that its own parser rejects.
  if (!/^[\x21-\x7e]+$/.test(key) || key.startsWith('-')) {
    command.error('error: this is not an API key. Give the key exactly as it was shown when it was created.');
  }
  return key;
}
