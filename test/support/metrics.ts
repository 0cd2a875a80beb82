import type { TestApp } from './app';
import { type HttpResponse, send } from './http';

/** Returns the address of the metrics of an application with `metricsPort: 0`, from its log. */
export function metricsUrl({ log }: TestApp): string {
  const line = log.findLast((each) => each.includes('Metrics are at'));
  return /http:[^"]+(?=\/metrics)/.exec(line ?? '')?.[0] ?? '';
}

export function scrape(app: TestApp): Promise<HttpResponse> {
  return send(metricsUrl(app), 'GET', '/metrics');
}

/** Returns the value of one series. The labels have the order in which the metric declares them. */
export function valueOf({ text }: HttpResponse, series: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length));
}
