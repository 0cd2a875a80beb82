import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { settle } from '../events/support/feed';
import { runCli } from '../support/cli';
import { createDatabase, type TestDatabase } from '../support/database';
import { type ServiceHere, startHere } from '../support/start';
import { codeBlocksOf, type Document, documents } from './documents';

const run = promisify(execFile);

/** Commands that need programs or machines that a spec does not have, and what tests them instead. */
const NOT_RUN: readonly (readonly [command: RegExp, tested: string])[] = [
  [/^npm ci && npm (start|test)$/, 'CI runs them on a fresh clone'],
  [/\bdocker\b|^sleep 10$/, 'by hand'],
  [/\bkubectl\b|\bdeploy\/kubernetes\//, 'npm run test:interop, without a cluster'],
  [/^sudo |^cd \/srv\/|^DEPLOYMENT=production .* npm start$/, 'test/process'],
  [/^export DATABASE_URL=|^mv \.data /, 'test/cli/db.spec.ts; here each restore gets an empty database'],
  [/\/opt\/otel|^npm install @opentelemetry/, 'test/process/start-and-stop.spec.ts, with the same file'],
  [/webhook|^WEBHOOKS/, 'test/webhooks/example.spec.ts'],
  [/mirror\.mjs/, 'test/events/mirror.spec.ts'],
  [/\b(grooming|vet-clinic)\b|^npm (install$|test|start)/, 'npm run test:example'],
];

const STAFF_SCOPES = 'pets:read,pets:write,pets:manage,orders:read,orders:write,orders:manage';

/** The arguments that create the key of a variable. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  AUTH: ['acme'],
  DEMO: ['demo', '--scopes', 'pets:read,pets:write,orders:read,events:read,webhooks:manage'],
  STAFF: ['shop', '--plan', 'business', '--scopes', STAFF_SCOPES],
};

interface Command {
  readonly line: string;
  /** The lines below it in the document; undefined in a block of commands only. */
  readonly output: string | undefined;
}

function commandsOf(document: Document): Command[] {
  return codeBlocksOf(document).flatMap(({ language, text }): Command[] => {
    const whole = text.replace(/ *\\\n */g, ' ');
    if (language === 'sh') {
      const lines = whole.split('\n').map((line) => line.replace(/(^| +)# .*$/, ''));
      return lines.filter((line) => line !== '').map((line) => ({ line, output: undefined }));
    }
    if (language !== 'text' || !whole.startsWith('$ ')) return [];
    return whole
      .slice(2)
      .split(/^\$ /m)
      .map((each) => ({ line: each.split('\n', 1)[0]!, output: each.slice(each.indexOf('\n') + 1) }));
  });
}

/** Splits a line as a shell does, without expansions. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
}

const UUID = /[\da-f]{8}-[\da-f-]{27}/g;

/** Replaces what differs in each run. */
function withoutIds(text: string): string {
  return text
    .replace(/ask_test_[\w…]+/g, 'KEY')
    .replace(UUID, 'ID')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME');
}

const withoutFigures = (text: string): string => text.replace(/\d+(\.\d+)?/g, '0');

/** In a document `…` on a line of its own is any lines; elsewhere it is any text. */
function patternOf(shown: string): RegExp {
  const escaped = shown.trimEnd().replace(/[$()*+.?[\\\]^{|}]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/^…(\n|$)/gm, '[^]*').replaceAll('…', '.*')}$`);
}

/** Runs the commands of one document in their order. */
class Shell {
  private readonly folder = mkdtempSync(join(tmpdir(), 'animal-store-docs-'));
  private readonly variables: Record<string, string> = {};
  /** The ids that the document shows, and those of this run. */
  private readonly ids = new Map<string, string>();
  private readonly empty: TestDatabase[] = [];

  private constructor(
    readonly database: TestDatabase,
    private readonly service: ServiceHere,
  ) {
    writeFileSync(join(this.folder, '.curlrc'), 'silent\n');
  }

  static async start(): Promise<Shell> {
    const database = await createDatabase();
    return new Shell(database, await startHere({ DATABASE_URL: database.directUrl }));
  }

  async stop(): Promise<void> {
    await this.service.stop();
    for (const database of [this.database, ...this.empty]) await database.drop();
    rmSync(this.folder, { recursive: true });
  }

  /** @returns what differs from the document */
  async execute({ line, output: shown }: Command): Promise<string[]> {
    const [, name, value] = /^(\w+)=('[^']*'|\S+)$/.exec(line) ?? [];
    const [, typed] = /^read -rs (\w+) && export \1$/.exec(line) ?? [];
    const variable = name ?? typed;
    if (variable !== undefined) {
      const text = value?.replaceAll("'", '') ?? 'ask_test_…';
      const key = text.includes('ask_test_…') ? await this.createKey(KEYS[variable] ?? []) : '';
      this.variables[variable] = this.real(text).replace('ask_test_…', key);
      return [];
    }
    const [, args] = /^(?:npm run -s cli --|animal-store) (.*)$/.exec(line) ?? [];
    const isCommand = args !== undefined;
    if (line.includes('/events')) await settle(this);
    const printed = (await (isCommand ? this.command(args) : this.shell(line))).replaceAll(
      this.service.url,
      'http://127.0.0.1:3000',
    );
    if (shown === undefined) return [];
    const ids = printed.match(UUID) ?? [];
    for (const [at, id] of (shown.match(UUID) ?? []).entries()) this.ids.set(id, ids[at] ?? '');
    const same = isCommand ? (text: string) => withoutFigures(withoutIds(text)) : withoutIds;
    return differences(same(shown), same(printed.replaceAll(this.folder, '/srv/backups')), line).map(
      (each) => `$ ${line}\n${each}`,
    );
  }

  private async createKey(args: readonly string[]): Promise<string> {
    const environment = { DATABASE_URL: this.database.directUrl };
    return (await runCli(['keys', 'create', '--json', '--account', ...args], environment)).json().key;
  }

  private async command(args: string): Promise<string> {
    const isRestore = args.startsWith('db restore ');
    if (isRestore) this.empty.push(await createDatabase('template0'));
    const database = isRestore ? this.empty.at(-1)! : this.database;
    const environment = { ...this.variables, DATABASE_URL: database.directUrl };
    const { status, out, all } = await runCli(wordsOf(this.real(args)), environment);
    if (status !== 0) throw new Error(`status ${status} of ${args}: ${all}`);
    return out;
  }

  private async shell(line: string): Promise<string> {
    const env = { ...this.variables, PATH: process.env['PATH'], HOME: this.folder };
    return (await run('bash', ['-c', this.real(line)], { cwd: this.folder, env })).stdout;
  }

  /** Replaces the addresses, folders and ids of the document by those of this run. */
  private real(text: string): string {
    return text
      .replaceAll('http://127.0.0.1:3000', this.service.url)
      .replaceAll('/srv/backups', this.folder)
      .replace(UUID, (id) => this.ids.get(id) ?? id);
  }
}

/** A document shows some headers of `curl -i`, and the whole body. */
function differences(shown: string, printed: string, line: string): string[] {
  if (!line.startsWith('curl -i ')) return patternOf(shown).test(printed.trimEnd()) ? [] : [printed];
  const [head = '', body = ''] = shown.split('\n\n');
  const [realHead = '', realBody = ''] = printed.replaceAll('\r', '').split('\n\n');
  const headers = realHead.toLowerCase().split('\n');
  const missing = head.split('\n').filter((header) => !headers.includes(header.toLowerCase()));
  return [...missing.map((header) => `no "${header}" in:\n${realHead}`), ...differences(body, realBody, '')];
}

/** Returns every command below a group, such as `keys create`, and its options, by the text of `--help`. */
async function namesOf(group: readonly string[]): Promise<string[]> {
  const { out } = await runCli([...group, '--help']);
  const [options = '', commands = ''] = out.split('\nCommands:\n');
  const below = [...commands.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name]) => [...group, name!]);
  const names = [group.join(' '), ...(options.match(/--[a-z][a-z-]*/g) ?? [])];
  // One after the other: a command in this process captures standard output.
  for (const each of below) if (each.at(-1) !== 'help') names.push(...(await namesOf(each)));
  return names;
}

describe('the commands of', () => {
  const withCommands = documents.filter((document) => commandsOf(document).length > 0);

  it.each(withCommands.map((document) => [document.path, commandsOf(document)] as const))(
    '%s print the output that it shows',
    async (_path, commands) => {
      const executed = commands.filter(({ line }) => !NOT_RUN.some(([pattern]) => pattern.test(line)));
      if (executed.length === 0) return;
      const shell = await Shell.start();
      const wrong: string[] = [];
      try {
        for (const command of executed) wrong.push(...(await shell.execute(command)));
      } finally {
        await shell.stop();
      }
      expect(wrong).toEqual([]);
    },
  );

  it('docs/admin.md and other sentences exist, with their options', async () => {
    const known = new Set(await namesOf([]));
    const named = documents.flatMap(({ path, text }) => {
      const code = [...text.matchAll(/`([^`\n]+)`/g)].map(([, each]) => each!);
      const commands = code.flatMap(
        (each) => /^(?:keys|accounts|audit|db|webhooks) [a-z-]+/.exec(each) ?? [],
      );
      const options = path === 'docs/admin.md' ? code.join(' ').match(/--[a-z][a-z-]*/g) : [];
      return [...commands, ...(options ?? [])];
    });
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter((each) => !known.has(each))).toEqual([]);
  });

  it('the documents are all executed, or tested elsewhere', () => {
    const lines = documents.flatMap(commandsOf).map(({ line }) => line);
    expect(NOT_RUN.filter(([pattern]) => !lines.some((line) => pattern.test(line)))).toEqual([]);
  });
});
