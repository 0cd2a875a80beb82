import type { Comparison } from './compare';
import { type LoadName, loads } from './loads';
import type { Measurement, Round } from './measure-load';
import { SERVER_NAMES, type ServerName } from './servers';
import { medianOf, quartilesOf } from './statistics';

/** A title, headings and rows of text. */
export interface Table {
  readonly title: string;
  readonly headings: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

type Figure = (measured: Measurement) => number;

const perSecond: Figure = (measured) => measured.perSecond;
const p50: Figure = (measured) => measured.p50Ms;
const p99: Figure = (measured) => measured.p99Ms;

/** The columns of every comparison, with the number of decimal places. */
const FIGURES: readonly (readonly [heading: string, figure: Figure, digits: number])[] = [
  ['requests/s', perSecond, 0],
  ['p50 ms', p50, 2],
  ['p99 ms', p99, 2],
  ['CPU s/1000', ({ serverCpu }) => serverCpu, 3],
  ['PostgreSQL CPU s/1000', ({ postgresCpu }) => postgresCpu, 3],
];
const HEADINGS = ['load', 'server', ...FIGURES.map(([heading]) => heading)];
const P99_RATIO = 'p99 of service ÷ this';

/** Makes a row for each load and server: medians over the rounds, and the ratios of the service to each baseline. */
export function comparisonTable(title: string, { loads: results, memory }: Comparison): Table {
  return {
    title,
    headings: [...HEADINGS, 'memory MiB', 'service is … times as fast', P99_RATIO],
    rows: results.flatMap(({ load, rounds }) =>
      serversOf(rounds).map((server) => [
        ...cellsOf(load, rounds, server),
        (memory[server] ?? 0).toFixed(0),
        ratioTo(rounds, server, perSecond),
        ratioTo(rounds, server, p99),
      ]),
    ),
  };
}

/** Makes the same rows for the rounds in which every server got the same requests per second. */
export function rateTable(title: string, { loads: results }: Comparison): Table {
  return {
    title,
    headings: [...HEADINGS, 'p50 of service ÷ this', P99_RATIO],
    rows: results.flatMap(({ load, atRate = [] }) =>
      serversOf(atRate).map((server) => [
        ...cellsOf(load, atRate, server),
        ratioTo(atRate, server, p50),
        ratioTo(atRate, server, p99),
      ]),
    ),
  };
}

function cellsOf(load: LoadName, rounds: readonly Round[], server: ServerName): string[] {
  const runs = rounds.flatMap(({ [server]: measured }) => measured ?? []);
  const medians = FIGURES.map(([, figure, digits]) => medianOf(runs.map(figure)).toFixed(digits));
  return [loads[load].title, server, ...medians];
}

/** Formats the median of the ratios within each round, with their quartiles in brackets. */
function ratioTo(rounds: readonly Round[], server: ServerName, figure: Figure): string {
  if (server === 'service') return '';
  const ratios = rounds.flatMap(({ service, [server]: baseline }) =>
    service && baseline ? [figure(service) / figure(baseline)] : [],
  );
  if (ratios.length === 0) return '';
  const { low, median, high } = quartilesOf(ratios);
  return `${median.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`;
}

function serversOf([first = {}]: readonly Round[]): ServerName[] {
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
