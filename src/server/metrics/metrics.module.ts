import { type DynamicModule, Module } from '@nestjs/common';
import { getDataSourceToken } from '@nestjs/typeorm';
import { Registry } from 'prom-client';
import type { Config } from '../../platform/config/config';
import { MetricsServer } from './metrics-server';
import { createRegistry } from './registry';
import { RequestMetrics } from './request-metrics';

/** Provides Prometheus metrics if METRICS_PORT is set. */
@Module({})
export class MetricsModule {
  static forRoot({ metricsPort }: Config): DynamicModule {
    if (metricsPort === undefined) return { module: MetricsModule };
    const registry = {
      provide: Registry,
      inject: [getDataSourceToken()],
      useFactory: createRegistry,
    };
    return { module: MetricsModule, providers: [registry, RequestMetrics, MetricsServer] };
  }
}
