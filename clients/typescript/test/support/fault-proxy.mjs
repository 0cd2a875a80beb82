import { createServer, request } from 'node:http';
import { gzipSync } from 'node:zlib';

/**
 * Starts a proxy that forwards every request, and loses the responses of `faults`, each for one request but OPTIONS:
 * `cut` closes the connection, `unavailable` responds 503 with `Retry-After: 1`, `date` with a date, `html` 502 with a
 * page. The service has done the work then. `compress` compresses as Apache does, which also changes the tags.
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
      if (fault !== undefined) return respondUnavailable(outgoing, answer.headers, fault);
      if (proxy.compress && text.length > 0)
        return outgoing.writeHead(answer.statusCode, compressed(answer.headers)).end(gzipSync(text));
      return outgoing.writeHead(answer.statusCode, answer.headers).end(text);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const proxy = {
    url: `http://127.0.0.1:${server.address().port}`,
    faults,
    seen,
    compress: false,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return proxy;
}

/** Changes the headers as mod_deflate does. */
function compressed({ etag, ...headers }) {
  const changed = {
    ...headers,
    'content-encoding': 'gzip',
    ...(etag && { etag: etag.replace(/"$/, '-gzip"') }),
  };
  delete changed['content-length'];
  return changed;
}

/** Keeps the headers of CORS, without which a browser hides the response from the page. */
function respondUnavailable(outgoing, headers, fault) {
  const ofCors = Object.entries(headers).filter(([name]) => name.startsWith('access-control-'));
  const after = fault === 'date' ? new Date(Date.now() + 2_000).toUTCString() : '1';
  const type =
    fault === 'html'
      ? { 'content-type': 'text/html' }
      : { 'content-type': 'application/json', 'retry-after': after };
  const body = { code: 'service_unavailable', message: 'The service is unavailable.', status: 503 };
  outgoing.writeHead(fault === 'html' ? 502 : 503, { ...Object.fromEntries(ofCors), ...type });
  outgoing.end(fault === 'html' ? '<html>' : JSON.stringify(body));
}
