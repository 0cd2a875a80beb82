import { type Attributes, context, SpanKind, trace } from '@opentelemetry/api';
import { sharersOf } from './shared-work';
import { markFailed } from './span-failure';
import { tracer } from './tracer';

/** A call of another program, such as one statement. */
interface Call {
  /** The name of the span. Every value is fixed by the code. */
  readonly name: string;
  readonly attributes: Attributes;
}

/**
 * Runs a call with a span below the active one. Background work has no active span, and gets none.
 *
 * The span of a call for several requests is below the first; it and the spans of the others link to each other.
 */
export function traceCall<T>({ name, attributes }: Call, call: () => Promise<T>): Promise<T> {
  const active = context.active();
  if (!tracer || !trace.getSpan(active)?.isRecording()) return call();
  const others = sharersOf(active);
  const links = others.map((other) => ({ context: other.spanContext() }));
  const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes, links }, active);
  for (const other of others) other.addLink({ context: span.spanContext() });
  return call()
    .catch((error: unknown) => {
      markFailed(span, error);
      throw error;
    })
    .finally(() => span.end());
}

/** Runs work of this service with an active span. */
export function traceWork<T>(name: string, work: () => Promise<T>): Promise<T> {
  if (!tracer) return work();
  const span = tracer.startSpan(name);
  return context
    .with(trace.setSpan(context.active(), span), work)
    .catch((error: unknown) => {
      markFailed(span, error);
      throw error;
    })
    .finally(() => span.end());
}
