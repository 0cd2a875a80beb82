import type { ColumnOptions, ValueTransformer } from 'typeorm';

/** Converts PostgreSQL's int8, which arrives as text because a number would round it. */
const int64: ValueTransformer = {
  from: (value: string | null) => (value === null ? null : BigInt(value)),
  to: (value: bigint | null | undefined) => value?.toString(),
};

/** Options of an entity's int8 column with a `bigint` property. */
export const int64Column = { type: 'bigint', transformer: int64 } as const satisfies ColumnOptions;
