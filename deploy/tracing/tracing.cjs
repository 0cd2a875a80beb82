// Sends the traces of the service over OTLP/HTTP (docs/operate.md, "Traces"). Environment variables configure it:
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
const { subscribe } = require('node:diagnostics_channel');
const { context } = require('@opentelemetry/api');
const { getRPCMetadata } = require('@opentelemetry/core');
const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-http');
const { registerInstrumentations } = require('@opentelemetry/instrumentation');
const { HttpInstrumentation } = require('@opentelemetry/instrumentation-http');
const { PgInstrumentation } = require('@opentelemetry/instrumentation-pg');
const { PinoInstrumentation } = require('@opentelemetry/instrumentation-pino');
const {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} = require('@opentelemetry/resources');
const { BatchSpanProcessor, NodeTracerProvider } = require('@opentelemetry/sdk-trace-node');

const named = resourceFromAttributes({ 'service.name': 'animal-store' });
const fromEnvironment = detectResources({ detectors: [envDetector] });

new NodeTracerProvider({
  resource: defaultResource().merge(named).merge(fromEnvironment),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
}).register();

registerInstrumentations({
  instrumentations: [
    new HttpInstrumentation(),
    new PgInstrumentation({ requireParentSpan: true }),
    new PinoInstrumentation({ disableLogSending: true }),
  ],
});

// Names the span of a request after its route, such as `POST /v1/pets`.
subscribe('tracing:fastify.request.handler:start', ({ route }) => {
  const request = getRPCMetadata(context.active());
  if (request) request.route ??= route.url;
});
