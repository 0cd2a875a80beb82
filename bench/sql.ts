import { APP_ROLE } from '../src/embedded-postgres/data-folder';
import { once } from '../test/support/once';
import { superuserUrl } from '../test/support/superuser';
import { rounded, type Table } from './figures';
import { type Load, loads } from './loads';
import type { Measure, Options } from './options';
import { type Server, startServer } from './servers';
import { fill, tidyUp } from './world';

const SHOWN_LENGTH = 70;
/** A statement that runs less often for each request is work of a timer. */
const MIN_CALLS = 0.001;

const FIGURES = ['calls', 'ms', 'buffers', 'wal'] as const;

/** The figures of statements in pg_stat_statements: milliseconds, shared buffers, bytes of WAL. */
type Figures = Readonly<Record<(typeof FIGURES)[number], number>>;
type Statement = Figures & { readonly query: string; readonly isTopLevel: boolean };

const STATEMENTS = `
  SELECT regexp_replace(trim(query), '\\s+', ' ', 'g') AS query, toplevel AS "isTopLevel", calls::float8,
    total_exec_time AS ms, (shared_blks_hit + shared_blks_read)::float8 AS buffers, wal_bytes::float8 AS wal
  FROM pg_stat_statements WHERE userid = '${APP_ROLE}'::regrole ORDER BY toplevel DESC, total_exec_time DESC`;

/** Runs a load after a warm-up. @returns its figures, its statements, and the sum of those */
export async function runObserved(url: string, server: Server, load: Load, options: Options) {
  await server.run(load, { connections: options.connections });
  await once(superuserUrl(url), 'SELECT pg_stat_statements_reset()');
  const seen = await server.run(load, options);
  const statements = await once<Statement>(superuserUrl(url), STATEMENTS);
  const sum = { calls: 0, ms: 0, buffers: 0, wal: 0 };
  // The figures of a statement include those that its triggers run.
  for (const each of statements.filter(({ isTopLevel }) => isTopLevel))
    for (const figure of FIGURES) sum[figure] += each[figure];
  return { seen, statements, sum };
}

/** Measures the statements of each load: the time, shared buffers and WAL of one request, or of one order. */
export const measureSql: Measure = async ({ url }, options, say) => {
  const server = await startServer('service', await fill(url, options.pets));
  const rows: Table['rows'][number][] = [];
  const measure = async (load: Load, title = load.title): Promise<void> => {
    await tidyUp(url);
    const { seen, statements, sum } = await runObserved(url, server, load, options);
    const count = seen.requests / (load.size ?? 1);
    rows.push({ load: title, statement: 'all', ...cellsOf(sum, count) });
    for (const each of statements.filter(({ calls }) => calls / count >= MIN_CALLS)) {
      const query = each.query.replace(/^SELECT .*? FROM/, 'SELECT … FROM').slice(0, SHOWN_LENGTH);
      const statement = `${each.isTopLevel ? '' : 'in it: '}${query}`;
      rows.push({ load: title, statement, ...cellsOf(each, count) });
    }
    say(`${title}: ${seen.perSecond.toFixed(0)}/s`);
  };
  for (const name of options.only) await measure(loads[name]);
  for (const table of ['pets', 'store_orders']) await once(url, `ALTER TABLE ${table} DISABLE TRIGGER USER`);
  if (options.only.includes('order')) await measure(loads.order, 'order without events');
  await server.stop();
  const title = `Of one request or one order (two requests); ${options.connections} connections, ${options.pets} animals`;
  return { table: { title, rows } };
};

const cellsOf = (figures: Figures, count: number): Readonly<Record<string, number>> =>
  Object.fromEntries(FIGURES.map((figure) => [figure, rounded(figures[figure] / count, 3)]));
