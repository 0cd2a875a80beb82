import type { Comparison, Measurement, Round } from './compare';
import { medianOf, quartilesOf, type Table } from './figures';
import { loads } from './loads';
import { SERVER_NAMES, type ServerName } from './servers';

type Figure = (measured: Measurement) => number;

const perSecond: Figure = (measured) => measured.perSecond;
const p99: Figure = (measured) => measured.p99Ms;

/** The columns of every comparison, with the number of decimal places. */
const FIGURES: readonly (readonly [heading: string, figure: Figure, digits: number])[] = [
  ['requests/s', perSecond, 0],
  ['p50 ms', ({ p50Ms }) => p50Ms, 2],
  ['p99 ms', p99, 2],
  ['CPU s/1000', ({ serverCpu }) => serverCpu, 3],
  ['PostgreSQL CPU s/1000', ({ postgresCpu }) => postgresCpu, 3],
];

/** Makes a row for each load and server: medians over the rounds, and the ratios of the service to each baseline. */
export function comparisonTable(title: string, { loads: results, memory }: Comparison): Table {
  return {
    title,
    headings: [
      'load',
      'server',
      ...FIGURES.map(([heading]) => heading),
      'memory MiB',
      'service is … times as fast',
      'p99 of service ÷ this',
    ],
    rows: results.flatMap(({ load, rounds }) =>
      SERVER_NAMES.filter((server) => rounds[0]?.[server]).map((server) => {
        const runs = rounds.flatMap(({ [server]: measured }) => measured ?? []);
        return [
          loads[load].title,
          server,
          ...FIGURES.map(([, figure, digits]) => medianOf(runs.map(figure)).toFixed(digits)),
          (memory[server] ?? 0).toFixed(0),
          ratioTo(rounds, server, perSecond),
          ratioTo(rounds, server, p99),
        ];
      }),
    ),
  };
}

/** Formats the median of the ratios within each round, with their quartiles in brackets. */
function ratioTo(rounds: readonly Round[], server: ServerName, figure: Figure): string {
  const ratios = rounds.flatMap(({ service, [server]: baseline }) =>
    service && baseline ? [figure(service) / figure(baseline)] : [],
  );
  if (server === 'service' || ratios.length === 0) return '';
  const [low, median, high] = quartilesOf(ratios);
  return `${median.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`;
}
