import type { QueryRunner } from 'typeorm';

/** Namespaces of PostgreSQL itself. */
const IS_OURS = `nspname !~ '^pg_' AND nspname <> 'information_schema'`;

/** Describes each object of a database in one line. */
const DESCRIBE = `
  SELECT 'schema ' || nspname AS line FROM pg_namespace WHERE ${IS_OURS}
  UNION ALL
  SELECT CASE relkind WHEN 'r' THEN 'table ' WHEN 'S' THEN 'sequence ' WHEN 'i' THEN 'index ' ELSE 'relation ' END || relname
    FROM pg_class JOIN pg_namespace space ON space.oid = relnamespace WHERE ${IS_OURS} AND relkind <> 't'
  UNION ALL
  SELECT format('column %s.%s %s%s%s', relname, attname, format_type(atttypid, atttypmod),
      CASE WHEN attnotnull THEN ' NOT NULL' END, concat(' ', attidentity, pg_get_expr(adbin, adrelid)))
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace space ON space.oid = relnamespace
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE ${IS_OURS} AND attnum > 0 AND NOT attisdropped AND relkind IN ('r', 'p', 'v', 'm')
  UNION ALL
  SELECT format('constraint %s of %s: %s', conname, conrelid::regclass, pg_get_constraintdef(pg_constraint.oid))
    FROM pg_constraint JOIN pg_namespace space ON space.oid = connamespace WHERE ${IS_OURS}
  UNION ALL
  SELECT format('index %s', indexdef) FROM pg_indexes WHERE schemaname !~ '^pg_'
  UNION ALL
  SELECT format('trigger %s', pg_get_triggerdef(oid)) FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL
  SELECT format('function %s %s', pg_proc.oid::regprocedure, md5(prosrc))
    FROM pg_proc JOIN pg_namespace space ON space.oid = pronamespace WHERE ${IS_OURS}
  UNION ALL
  SELECT 'type ' || typname FROM pg_type JOIN pg_namespace space ON space.oid = typnamespace
    WHERE ${IS_OURS} AND typtype IN ('d', 'e', 'r')
  UNION ALL
  SELECT 'extension ' || extname FROM pg_extension
  ORDER BY 1`;

/** Lists the objects of a database: tables, columns, constraints, indexes, triggers, functions and types. */
export async function describeSchema(runner: QueryRunner): Promise<readonly string[]> {
  const rows: { readonly line: string }[] = await runner.query(DESCRIBE);
  return rows.map(({ line }) => line);
}
