import type { Comparison, Measurement, Round } from './compare';
import { median, quartilesOf, rounded, type Table } from './figures';
import { loads } from './loads';
import { SERVER_NAMES, type ServerName } from './servers';

type Figure = keyof Measurement;

/** Makes a row for each load and server: medians over the rounds, and the ratios of the service to each baseline. */
export function comparisonTable(title: string, { loads: results, memory }: Comparison): Table {
  const rows = results.flatMap(({ load, rounds }) =>
    SERVER_NAMES.filter((server) => rounds[0]?.[server]).map((server) => {
      const runs = rounds.flatMap(({ [server]: measured }) => measured ?? []);
      const medianOf = (figure: Figure, digits?: number) =>
        rounded(median(runs.map((run) => run[figure])), digits);
      return {
        load: loads[load].title,
        server,
        'requests/s': medianOf('perSecond', 0),
        'p50 ms': medianOf('p50Ms'),
        'p99 ms': medianOf('p99Ms'),
        'CPU s/1000': medianOf('serverCpu', 3),
        'PostgreSQL CPU s/1000': medianOf('postgresCpu', 3),
        'memory MiB': rounded(memory[server] ?? 0, 0),
        'service is … times as fast': ratioTo(rounds, server, 'perSecond'),
        'p99 of service ÷ this': ratioTo(rounds, server, 'p99Ms'),
      };
    }),
  );
  return { title, rows };
}

/** Formats the median of the ratios within each round, with their quartiles in brackets. */
function ratioTo(rounds: readonly Round[], server: ServerName, figure: Figure): string {
  const ratios = rounds.flatMap(({ service, [server]: baseline }) =>
    service && baseline ? [service[figure] / baseline[figure]] : [],
  );
  if (server === 'service' || ratios.length === 0) return '';
  const [low, middle, high] = quartilesOf(ratios);
  return `${middle.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`;
}
