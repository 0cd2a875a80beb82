import type { Type } from '@nestjs/common';
import { ApiSchema } from '@nestjs/swagger';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { Int64, Integer, Text } from '../../../src';

export type Fields = Readonly<Record<string, readonly PropertyDecorator[]>>;

const NAME = { description: 'Name of the item.', example: 'North' } as const;
export const BODY: Fields = {
  name: [Text({ ...NAME, max: 50 })],
  weight: [Int64({ description: 'Weight in grams.', example: 5 })],
};
export const NOTE: Fields = {
  note: [Text({ max: 100, optional: true, nullable: true, description: 'A note.', example: 'Quiet' })],
};
export const PLACES: Fields = {
  places: [Integer({ min: 1, max: 500, optional: true, description: 'Number of places.', example: 12 })],
};
export const ITEM: Fields = {
  id: [Int64({ description: 'Identifier of the item.', example: 1 })],
  ...BODY,
  places: [Integer({ min: 1, max: 500, description: 'Number of places.', example: 12 })],
  note: [Text({ max: 100, nullable: true, description: 'A note.', example: 'Quiet' })],
};
export const CHANGE: Fields = {
  note: [Text({ max: 100, nullable: true, description: 'A note.', example: 'Quiet' })],
};

export function bodyOf({
  body,
  hasWeight = true,
}: {
  readonly body?: Fields;
  readonly hasWeight?: boolean;
}): Fields {
  const { weight: _, ...lean } = BODY;
  return { ...(hasWeight ? BODY : lean), ...body };
}

let timestamp = 1_795_400_000_000;

export function dtoOf(name: string, fields: Fields): Type {
  class Dto {
    readonly [field: string]: unknown;
  }
  Object.defineProperty(Dto, 'name', { value: name });
  ApiSchema({ description: 'An item.' })(Dto);
  for (const [field, decorators] of Object.entries(fields)) {
    for (const decorate of decorators) decorate(Dto.prototype, field);
  }
  return Dto;
}

export function migrationOf(
  table: string,
  changes: { readonly up?: (table: string) => string },
): new () => MigrationInterface {
  class Migration implements MigrationInterface {
    async up(runner: QueryRunner): Promise<void> {
      await runner.query(changes.up?.(table) ?? createTable(table));
    }

    async down(runner: QueryRunner): Promise<void> {
      await runner.query(`DROP TABLE ${table}`);
    }
  }
  timestamp += 1;
  Object.defineProperty(Migration, 'name', { value: `${table}_${timestamp}` });
  return Migration;
}

/** @param type of the column of the name */
export function createTable(table: string, type = 'text'): string {
  return `CREATE TABLE ${table} (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name ${type} NOT NULL UNIQUE, weight bigint NOT NULL,
    places integer NOT NULL, note text)`;
}
