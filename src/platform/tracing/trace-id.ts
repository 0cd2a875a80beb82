import { context, trace } from '@opentelemetry/api';
import { tracer } from './tracer';

/** Returns the trace of the current request: 32 hexadecimal digits, or undefined without an SDK for traces. */
export function currentTraceId(): string | undefined {
  return tracer && trace.getSpanContext(context.active())?.traceId;
}
