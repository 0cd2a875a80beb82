// Sends the traces of the service over OTLP/HTTP (docs/operations.md, "Traces"). Environment variables configure it:
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

const named = resourceFromAttributes({ 'service.name': 'animal-store' });
const fromEnvironment = detectResources({ detectors: [envDetector] });

new NodeTracerProvider({
  resource: defaultResource().merge(named).merge(fromEnvironment),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
}).register();
