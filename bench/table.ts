import type { Comparison, LoadResult, Measurement } from './compare';
import { loads } from './loads';
import { SERVER_NAMES, type ServerName } from './servers';
import { medianOf, quartilesOf } from './statistics';

/** A title, headings and rows of text. */
export interface Table {
  readonly title: string;
  readonly headings: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Makes a row for each load and server: medians over the rounds, and the ratio of the service to each baseline. */
export function comparisonTable(title: string, { loads: results, memory }: Comparison): Table {
  return {
    title,
    headings: [
      'load',
      'server',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'CPU s/1000',
      'PostgreSQL CPU s/1000',
      'memory MiB',
      'service is … times as fast',
    ],
    rows: results.flatMap((result) => serversOf(result).map((server) => rowOf(result, server, memory))),
  };
}

function rowOf(result: LoadResult, server: ServerName, memory: Comparison['memory']): string[] {
  const median = (of: (measured: Measurement) => number): number =>
    medianOf(result.rounds.flatMap((round) => (round[server] ? [of(round[server])] : [])));
  return [
    loads[result.load].title,
    server,
    median(({ perSecond }) => perSecond).toFixed(0),
    median(({ p50Ms }) => p50Ms).toFixed(2),
    median(({ p99Ms }) => p99Ms).toFixed(2),
    median(({ serverCpu }) => serverCpu).toFixed(3),
    median(({ postgresCpu }) => postgresCpu).toFixed(3),
    (memory[server] ?? 0).toFixed(0),
    ratioTo(result, server),
  ];
}

/** Formats the median of the ratios within each round, with their quartiles in brackets. */
function ratioTo({ rounds }: LoadResult, server: ServerName): string {
  if (server === 'service') return '';
  const ratios = rounds.flatMap(({ service, [server]: baseline }) =>
    service && baseline ? [service.perSecond / baseline.perSecond] : [],
  );
  if (ratios.length === 0) return '';
  const { low, median, high } = quartilesOf(ratios);
  return `${median.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`;
}

function serversOf({ rounds: [first = {}] }: LoadResult): ServerName[] {
  return SERVER_NAMES.filter((server) => first[server]);
}

/** Formats the table in Markdown. Each column is as wide as its longest cell. */
export function toMarkdown({ headings, rows }: Table): string {
  const widths = headings.map((heading, at) =>
    Math.max(...[headings, ...rows].map((row) => (row[at] ?? heading).length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => (at < 2 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, at) => (at < 2 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(headings), rule, ...rows.map(line)].join('\n');
}
