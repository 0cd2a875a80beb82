import { type Context, context, createContextKey, ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api';

/** The spans of the other requests, in the context of the work. */
const SHARERS = createContextKey('the other requests that wait for this work');

/** The contexts of the requests that wait for shared work. */
const contexts = new WeakMap<object, Context[]>();

/** Notes that the current request waits for shared work. */
export function noteWaiting(waiting: object): void {
  const known = contexts.get(waiting);
  if (known) known.push(context.active());
  else contexts.set(waiting, [context.active()]);
}

/** Runs shared work in the context of the first request that waits for it and is recorded. */
export function runShared<T>(waiting: readonly object[], work: () => T): T {
  const recorded = waiting
    .flatMap((each) => contexts.get(each) ?? [])
    .filter((each) => trace.getSpan(each)?.isRecording());
  const [first = ROOT_CONTEXT, ...others] = recorded;
  const sharers = others.flatMap((each) => trace.getSpan(each) ?? []);
  return context.with(first.setValue(SHARERS, sharers), work);
}

/** Returns the spans of the other requests that share the work. */
export function sharersOf(active: Context): readonly Span[] {
  // Only this file has the key.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (active.getValue(SHARERS) as readonly Span[] | undefined) ?? [];
}
