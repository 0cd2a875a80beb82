import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Registry } from 'prom-client';
import { addConnections, addDroppedLines, addSharedLimit, type OpenConnections } from './registry';
import { recordRequests, RequestMetrics } from './request-metrics';

/** Facts that the metrics read at every scrape. */
interface MetricSources {
  readonly isLimitShared: () => boolean;
  readonly connections: OpenConnections;
  readonly droppedLines: () => number;
}

/** Records every request, and exposes the facts of other folders. */
export function installMetrics(
  app: NestFastifyApplication,
  { isLimitShared, connections, droppedLines }: MetricSources,
): void {
  const registry: Registry = app.get(Registry);
  recordRequests(app.getHttpAdapter().getInstance(), app.get(RequestMetrics));
  addSharedLimit(registry, isLimitShared);
  addConnections(registry, connections);
  addDroppedLines(registry, droppedLines);
}
