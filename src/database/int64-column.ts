import type { ColumnOptions, ValueTransformer } from 'typeorm';

/** PostgreSQL's int8 arrives as text, because a number would round it. */
const int64: ValueTransformer = {
  from: (value: string | null) => (value === null ? null : BigInt(value)),
  to: (value: bigint | null | undefined) => value?.toString(),
};

/** Options of an entity's bigint column whose property is a `bigint`. */
export const int64Column = { type: 'bigint', transformer: int64 } as const satisfies ColumnOptions;
