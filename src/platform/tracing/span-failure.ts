import { type Span, SpanStatusCode } from '@opentelemetry/api';
import { codeOf } from '../errors/user-error';

/** Marks a span as failed, with a code or a class and without the message: a message may contain data of a client. */
export function markFailed(span: Span, error: unknown): void {
  const name = error instanceof Error ? error.name : 'Error';
  span.setAttribute('error.type', codeOf(error) || name);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
