import { type DynamicModule, Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { getDataSourceToken } from '@nestjs/typeorm';
import { Registry } from 'prom-client';
import type { Config } from '../../platform/config/config';
import { MetricsServer } from './metrics-server';
import { addSources, createRegistry, type MetricSources } from './registry';
import { RequestMetrics } from './request-metrics';

/** Provides Prometheus metrics if METRICS_PORT is set. */
@Module({})
export class MetricsModule {
  static forRoot({ metricsPort }: Config): DynamicModule {
    if (metricsPort === undefined) return { module: MetricsModule };
    const registry = { provide: Registry, inject: [getDataSourceToken()], useFactory: createRegistry };
    return { module: MetricsModule, providers: [registry, RequestMetrics, MetricsServer] };
  }
}

/** Records every request after its response, that of a hook included, and exposes the facts of other folders. */
export function installMetrics(app: NestFastifyApplication, sources: MetricSources): void {
  const metrics = app.get(RequestMetrics);
  const fastify = app.getHttpAdapter().getInstance();
  fastify.addHook('onResponse', (request, reply, done) => {
    metrics.record(request, reply);
    done();
  });
  addSources(app.get(Registry), sources);
}
