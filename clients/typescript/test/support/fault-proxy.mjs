import { createServer, request } from 'node:http';

/**
 * Starts a proxy that forwards every request, and loses the responses of `faults`, each for one request but OPTIONS:
 * `cut` closes the connection, `unavailable` responds 503 with `Retry-After: 1`. The service has done the work then.
 */
export async function startFaultProxy(target) {
  const faults = [];
  const seen = [];
  const server = createServer((incoming, outgoing) => {
    const { method, headers } = incoming;
    const onward = request(new URL(incoming.url, target), { method, headers }, async (answer) => {
      const text = Buffer.concat(await answer.toArray());
      if (method === 'OPTIONS') return outgoing.writeHead(answer.statusCode, answer.headers).end(text);
      const fault = faults.shift();
      seen.push({
        method,
        path: incoming.url,
        status: answer.statusCode,
        fault,
        key: headers['idempotency-key'],
      });
      if (fault === 'cut') return incoming.socket.destroy();
      if (fault === 'unavailable') return respondUnavailable(outgoing, answer.headers);
      return outgoing.writeHead(answer.statusCode, answer.headers).end(text);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    faults,
    seen,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Keeps the headers of CORS, without which a browser hides the response from the page. */
function respondUnavailable(outgoing, headers) {
  const ofCors = Object.entries(headers).filter(([name]) => name.startsWith('access-control-'));
  const type = { 'content-type': 'application/json', 'retry-after': '1' };
  const body = { code: 'service_unavailable', message: 'The service is unavailable.', status: 503 };
  outgoing.writeHead(503, { ...Object.fromEntries(ofCors), ...type }).end(JSON.stringify(body));
}
