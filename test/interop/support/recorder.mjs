import { createServer, request } from 'node:http';

/**
 * Starts a proxy in front of the service that records each request with its response, in the same way for every client.
 * Times are milliseconds of the monotonic clock, and `bytes` are those of the body.
 */
export async function startRecorder(target) {
  const answers = [];
  const server = createServer((incoming, outgoing) => {
    const at = performance.now();
    const { method, headers } = incoming;
    const onward = request(new URL(incoming.url, target), { method, headers }, (answer) => {
      const recorded = {
        at,
        ifNoneMatch: headers['if-none-match'],
        status: answer.statusCode,
        bytes: 0,
      };
      answers.push(recorded);
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.on('data', (chunk) => (recorded.bytes += chunk.length));
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    answers,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
