import { type DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { type DatabaseConfig, dataSourceOptions } from './data-source';
import { DatabaseHealth } from './database-health';
import { Sql } from './sql';

/** Provides the connection pool to every module. TypeOrmModule closes it after the last request. */
@Global()
@Module({})
export class DatabaseModule {
  static forRoot(config: DatabaseConfig): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRoot({ ...dataSourceOptions(config), autoLoadEntities: true, retryAttempts: 0 }),
      ],
      providers: [Sql, DatabaseHealth],
      exports: [Sql, DatabaseHealth],
    };
  }
}
