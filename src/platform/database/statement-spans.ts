import { traceCall } from '../tracing/spans';

/** The command of a text that TypeORM sends, such as `COMMIT`. The rest of a text may contain data of a client. */
const COMMAND = /^\s*([A-Z]+(?: TRANSACTION| SAVEPOINT)?)/i;

type Query = (...input: unknown[]) => unknown;

/** Sends a statement with a span of its name. */
export function traceStatement<T>(name: string, send: () => Promise<T>): Promise<T> {
  const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name };
  return traceCall({ name, attributes }, send);
}

/** Adds a span to every text without a name, such as those that begin and end a transaction. */
export function traceTexts(query: Query): Query {
  return (...input) => {
    const [text] = input;
    // With a callback node-postgres returns no promise.
    if (typeof text !== 'string' || typeof input.at(-1) === 'function') return query(...input);
    const name = COMMAND.exec(text)?.[1]?.toUpperCase() ?? 'query';
    return traceStatement(name, async () => query(...input));
  };
}
