import { type DynamicModule, Global, Module, type OnApplicationShutdown } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Registry } from 'prom-client';
import { CONFIG } from '../config/config';
import { type DatabaseConfig, dataSourceOptions } from '../database/data-source';
import { Sql } from '../database/sql';
import { StoreScopes } from '../api/extension/extension';
import { Clock } from '../time/clock';
import { DEFAULT_SCOPES, type Store } from './store';

/** Provides the settings, the clock, the metrics and the connection pool, which is closed after the last request. */
@Global()
@Module({})
export class CoreModule implements OnApplicationShutdown {
  private readonly closing: (() => Promise<void>)[] = [];

  static forRoot(config: DatabaseConfig, clock: Clock, { scopes }: Store): DynamicModule {
    return {
      module: CoreModule,
      imports: [
        TypeOrmModule.forRoot({ ...dataSourceOptions(config), autoLoadEntities: true, retryAttempts: 0 }),
      ],
      providers: [
        Sql,
        { provide: CONFIG, useValue: config },
        { provide: Clock, useValue: clock },
        { provide: StoreScopes, useValue: new StoreScopes(scopes, DEFAULT_SCOPES) },
        { provide: Registry, useValue: new Registry() },
      ],
      exports: [Sql, CONFIG, Clock, StoreScopes, Registry],
    };
  }

  /** Runs `close` when the application has closed its last connection. */
  afterClose(close: () => Promise<void>): void {
    this.closing.push(close);
  }

  /** Nest closes global modules last, each before the global module that imports it: TypeOrmModule has closed the pool. */
  async onApplicationShutdown(): Promise<void> {
    for (const close of this.closing) await close();
  }
}
