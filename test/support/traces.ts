import { context, propagation, SpanKind, trace } from '@opentelemetry/api';
import { NodeTracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { until } from './until';

/** Every span, in the order in which they began. */
const started: ReadableSpan[] = [];

// A spec imports this file before the service, as `--import` loads an SDK before the service.
new NodeTracerProvider({
  spanProcessors: [
    {
      onStart: (span) => void started.push(span),
      onEnd: () => undefined,
      forceFlush: () => Promise.resolve(),
      shutdown: () => Promise.resolve(),
    },
  ],
}).register();

// The next spec file in this process must find no SDK.
afterAll(() => {
  trace.disable();
  context.disable();
  propagation.disable();
});

/** A span of a client, which is the parent of a request. */
export interface ClientSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly headers: { readonly traceparent: string };
}

let clients = 0;

export function clientSpan(): ClientSpan {
  clients += 1;
  const traceId = clients.toString(16).padStart(32, '0');
  const spanId = clients.toString(16).padStart(16, 'c');
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-01` } };
}

/** Returns the spans of a trace, in the order in which they began, after its requests have ended. */
export async function spansOf({ traceId }: ClientSpan, requests = 1): Promise<ReadableSpan[]> {
  const found = () => started.filter((span) => span.spanContext().traceId === traceId);
  await until(() => found().filter((span) => isRequest(span) && span.ended).length === requests);
  return found();
}

/** Returns every span of this spec file. */
export function allSpans(): readonly ReadableSpan[] {
  return started;
}

/** Returns each span as `parent > name`, with the client's span as `client`. */
export function treeOf(spans: readonly ReadableSpan[], { spanId }: ClientSpan): string[] {
  const names = new Map([
    [spanId, 'client'],
    ...spans.map((span) => [span.spanContext().spanId, span.name] as const),
  ]);
  return spans.map((span) => `${names.get(span.parentSpanContext?.spanId ?? '') ?? 'none'} > ${span.name}`);
}

export function named(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  const span = spans.find((each) => each.name === name);
  if (!span) throw new Error(`there is no span ${name}: ${spans.map((each) => each.name).join(', ')}`);
  return span;
}

function isRequest({ kind }: ReadableSpan): boolean {
  return kind === SpanKind.SERVER;
}
