import { type DynamicModule, Global, Module, type OnApplicationShutdown } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { type DatabaseConfig, dataSourceOptions } from './data-source';
import { Sql } from './sql';

/** Provides the connection pool to every module. It is closed after the last request. */
@Global()
@Module({})
export class DatabaseModule implements OnApplicationShutdown {
  private readonly closing: (() => Promise<void>)[] = [];

  static forRoot(config: DatabaseConfig): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRoot({ ...dataSourceOptions(config), autoLoadEntities: true, retryAttempts: 0 }),
      ],
      providers: [Sql],
      exports: [Sql],
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
