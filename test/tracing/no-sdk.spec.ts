/** @jest-environment-options {"ownSources": true} */
import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { tracer } from '../../src/platform/tracing/tracer';
import { startApp } from '../support/app';
import { aNewPet } from '../support/factories';

describe('without an OpenTelemetry SDK', () => {
  it('the service makes no span, and a log line has no trace_id', async () => {
    expect(tracer).toBeUndefined();
    const startSpan = jest.spyOn(NodeTracerProvider.prototype, 'getTracer');
    const withContext = jest.spyOn(context, 'with');
    const active = jest.spyOn(context, 'active');
    const app = await startApp();
    const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
    await app.post('/v1/pets', aNewPet(), { headers: { traceparent } });
    await app.get('/v1/pets', { headers: { traceparent } });
    expect(app.log.filter((line) => line.includes('trace_id'))).toEqual([]);
    await app.close();
    for (const spy of [startSpan, withContext, active]) {
      expect(spy).not.toHaveBeenCalled();
      spy.mockRestore();
    }
    expect(trace.getSpan(ROOT_CONTEXT)).toBeUndefined();
  });
});
