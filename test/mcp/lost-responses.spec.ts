import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HttpGateway } from '../../src/mcp/stdio/http.gateway';
import { UserError } from '../../src/platform/errors/user-error';

const DOCUMENT = { info: { title: 'Animal Store', version: '1.0.0' }, paths: {} };

/** A deployment whose responses to POST break off. */
function startBrokenDeployment(): Promise<Server> {
  const server = createServer(({ method, url }, response) => {
    if (method === 'POST') {
      response.writeHead(201, { 'content-length': 100 });
      response.write('{', () => response.destroy());
    } else response.end(JSON.stringify(url === '/openapi.json' ? DOCUMENT : { scopes: ['pets:write'] }));
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

describe('a call of animal-store mcp', () => {
  it('whose response breaks off says that it may have had its effect, and how to repeat it', async () => {
    const server = await startBrokenDeployment();
    const { port } = server.address() as AddressInfo;
    const gateway = await HttpGateway.open({ baseUrl: `http://127.0.0.1:${port}/v1`, key: 'a' }, 'session');
    const failure = await gateway
      .send({ method: 'POST', path: '/pets', headers: {}, body: '{}' })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UserError);
    expect(String(failure)).toContain('repeat the call with the same Idempotency-Key');
    server.close();
  });
});
