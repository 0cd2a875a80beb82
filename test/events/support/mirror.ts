import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { send } from '../../support/http';
import { until } from '../../support/until';

const ROOT = join(__dirname, '..', '..', '..');
const CLIENTS = join(ROOT, 'clients');
/** Without a client, and with each of them. The one for TypeScript must be built. */
export const PROGRAMS = ['mirror.mjs', 'with-client.mjs', 'with_client.py'] as const;
type Program = (typeof PROGRAMS)[number];
/** The clients have integers as strings in JSON, or exact ones. */
const INTEGERS = /^(id|petId|categoryId)$/;
const STEPS = ['placed', 'approved', 'delivered', 'cancelled'];
const TABLES = {
  pets: `SELECT id::int, name, category_id::int AS "categoryId", status FROM pets`,
  orders: 'SELECT id::int, pet_id::int AS "petId", status FROM store_orders',
} as const;

interface Row {
  readonly id: number;
  readonly status: string;
  readonly petId?: number;
  /** The number of changes of the animal. */
  readonly categoryId?: number;
}
export type Copy = Readonly<Record<keyof typeof TABLES, Readonly<Record<string, Row>>>> & {
  readonly next: string;
};

function stepOf({ status, categoryId }: Row): number {
  return categoryId ?? STEPS.indexOf(status);
}

/** Instances with one database. */
export interface Store {
  readonly urls: readonly string[];
  readonly key: string;
  query(text: string): Promise<Row[]>;
}

/** An example program, which keeps a copy of the tables in a file. */
export class Mirror {
  private readonly folder = mkdtempSync(join(tmpdir(), 'animal-store-mirror-'));
  private child: ChildProcess | undefined;
  private last: Copy | undefined;
  private readonly removed = new Set<string>();
  private output = '';

  constructor(
    private readonly store: Store,
    private readonly program: Program = 'mirror.mjs',
  ) {
    const packages = join(this.folder, 'node_modules');
    mkdirSync(packages);
    symlinkSync(join(CLIENTS, 'typescript'), join(packages, 'animal-store-client'));
    copyFileSync(join(ROOT, 'examples', 'mirror', program), join(this.folder, program));
  }

  start(at = 0): void {
    const COPY = join(this.folder, 'copy.json');
    const { PATH } = process.env;
    const own = { API: `${this.store.urls[at]}/v1/`, KEY: this.store.key, COPY, PAUSE_MS: '5' };
    const env = { PATH, PYTHONPATH: join(CLIENTS, 'python'), ...own };
    const runtime = this.program.endsWith('.py') ? 'python3' : process.execPath;
    this.child = spawn(runtime, [join(this.folder, this.program)], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.child.stderr!.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
  }

  async kill(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (child?.exitCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }

  /** Reads the file. @throws Error if it has an older state than before, or if the program has ended */
  read(): Copy | undefined {
    if (this.child?.exitCode !== null) throw new Error(`${this.program} has ended: ${this.output}`);
    const file = join(this.folder, 'copy.json');
    if (!existsSync(file)) return undefined;
    const copy = JSON.parse(readFileSync(file, 'utf8'), (name, value: unknown) =>
      INTEGERS.test(name) ? Number(value) : value,
    ) as Copy;
    for (const name of ['pets', 'orders'] as const) {
      for (const [id, row] of Object.entries(copy[name])) {
        const before = this.last?.[name][id];
        if (this.removed.has(`${name} ${id}`) || (before && stepOf(row) < stepOf(before)))
          throw new Error(`${JSON.stringify(row)} is older than ${JSON.stringify(before)}`);
      }
      for (const id of Object.keys(this.last?.[name] ?? {}))
        if (!copy[name][id]) this.removed.add(`${name} ${id}`);
    }
    return (this.last = copy);
  }

  /** Reads the file until it is as wanted. */
  follow(isWanted: (copy: Copy | undefined) => boolean | Promise<boolean>): Promise<void> {
    return until(() => isWanted(this.read()));
  }

  /** True if it has the rows of both tables. */
  async isEqual(): Promise<boolean> {
    const copy = this.read();
    for (const [name, text] of Object.entries(TABLES)) {
      const rows = await this.store.query(text);
      const copied = Object.values(copy?.[name as keyof typeof TABLES] ?? {});
      const members = Object.keys(rows[0] ?? {});
      const lines = (from: readonly object[]) => from.map((row) => JSON.stringify(row, members)).toSorted();
      if (lines(rows).join() !== lines(copied).join()) return false;
    }
    return true;
  }

  async end(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true });
  }
}

/** Changes animals and orders of its own at an instance, each of them one after the other. */
async function change({ key }: Store, url: string, count: number): Promise<void> {
  const pets: number[] = [];
  const versions = new Map<number, number>();
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(Math.random() * items.length)]!;
  const call = async (method: string, path: string, body?: object) => {
    const response = await send(url, method, `/v1/${path}`, { key, ...(body && { body }) });
    return response.text === '' ? undefined : (response.json as Row);
  };
  for (let at = 0; at < count; at += 1) {
    const id = pets.length > 0 && Math.random() < 0.8 ? pick(pets) : undefined;
    if (id === undefined) {
      pets.push((await call('POST', 'pets', { name: 'Rex', categoryId: 0 }))!.id);
      continue;
    }
    const version = (versions.get(id) ?? 0) + 1;
    versions.set(id, version);
    const order = Math.random() < 0.3 ? await call('POST', 'store/orders', { petId: id }) : undefined;
    if (order?.petId === id)
      await call('PATCH', `store/orders/${order.id}`, { status: pick(['approved', 'cancelled']) });
    else if (Math.random() < 0.2) await call('DELETE', `pets/${id}`);
    else await call('PATCH', `pets/${id}`, { categoryId: version });
    if (Math.random() < 0.1) pets.splice(pets.indexOf(id), 1);
  }
}

/** Runs random histories over all instances, and kills each mirror in each. @returns the number of those after which all equal the tables */
export async function followHistories(
  store: Store,
  rounds: number,
  programs?: readonly Program[],
): Promise<number> {
  const mirrors = (programs ?? ['mirror.mjs']).map((program) => new Mirror(store, program));
  let equal = 0;
  try {
    for (const mirror of mirrors) mirror.start();
    for (const mirror of mirrors) await mirror.follow((copy) => copy !== undefined);
    for (; equal < rounds; equal += 1) {
      const changes = Promise.all(store.urls.map((url) => change(store, url, 8)));
      let isRunning = true;
      void changes.finally(() => (isRunning = false)).catch(() => undefined);
      const follow = async (mirror: Mirror): Promise<void> => {
        await mirror.follow(() => !isRunning || Math.random() < 0.1);
        await mirror.kill();
        mirror.start((equal + 1) % store.urls.length);
        await mirror.follow(() => !isRunning && mirror.isEqual());
        await changes;
      };
      await Promise.all(mirrors.map(follow));
    }
    return equal;
  } finally {
    for (const mirror of mirrors) await mirror.end();
  }
}
