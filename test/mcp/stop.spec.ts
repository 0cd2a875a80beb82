import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { startApp } from '../support/app';
import { isRefused } from '../support/is-refused';
import { until } from '../support/until';
import { readResult, toolCall } from './support';

describe('a stop of the service', () => {
  it('lets a call of a tool finish, although its first use of the tools is after the end of listening', async () => {
    const app = await startApp();
    const body = JSON.stringify(toolCall(1, 'createPet', { name: 'Late', categoryId: 1 }));
    const call = httpRequest(`${app.url}/mcp`, {
      method: 'POST',
      agent: new Agent(),
      headers: {
        authorization: `Bearer ${app.key}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        expect: '100-continue',
      },
    });
    call.flushHeaders();
    await once(call, 'continue');
    const closed = app.nest.close();
    await until(() => isRefused(app.url));
    call.end(body);
    const [response] = await once(call, 'response');
    const { result, error } = JSON.parse((await response.setEncoding('utf8').toArray()).join(''));
    expect([response.statusCode, error]).toEqual([200, undefined]);
    expect(readResult(result).json).toMatchObject({ name: 'Late' });
    await closed;
    await app.close();
  });
});
