import { ProxyTracerProvider, trace, type Tracer } from '@opentelemetry/api';

const SCOPE = 'animal-store';

/**
 * The tracer of the program's OpenTelemetry SDK; undefined if none was registered before the service was loaded.
 *
 * It is read once. Without an SDK no span, context or closure is created, and a request only reads this constant.
 */
export const tracer: Tracer | undefined = registeredTracer();

function registeredTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  const isMissing =
    provider instanceof ProxyTracerProvider && provider.getDelegateTracer(SCOPE) === undefined;
  return isMissing ? undefined : provider.getTracer(SCOPE);
}
