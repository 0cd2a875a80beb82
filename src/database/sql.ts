import { Inject, Injectable } from '@nestjs/common';
import { InjectEntityManager } from '@nestjs/typeorm';
import type { EntityManager } from 'typeorm';
import type { Config } from '../config/config';
import { CONFIG } from '../config/config.token';

/** One SQL statement, prepared once on each connection under its name: two texts must not share one. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** Runs hand-written statements on TypeORM's pool, without its query builder and entity hydration. */
@Injectable()
export class Sql {
  private readonly usesPrepared: boolean;

  constructor(
    @InjectEntityManager() private readonly manager: EntityManager,
    @Inject(CONFIG) config: Config,
  ) {
    this.usesPrepared = config.databasePreparedStatements;
  }

  /** The rows of a SELECT or INSERT … RETURNING. int8 columns arrive as text: pass them through `BigInt()`. */
  rows<Row>({ name, text }: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    // TypeORM hands the first argument to pg's `query` untouched, which takes a named text too.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const query = this.usesPrepared ? ({ name, text } as unknown as string) : text;
    return this.manager.query<Row[]>(query, [...parameters]);
  }
}
