import { createServer, request } from 'node:http';

/**
 * Starts a proxy in front of the service that records the time of each request and its response, in the same way for every
 * client. Times are milliseconds of the monotonic clock.
 */
export async function startRecorder(target) {
  const answers = [];
  const server = createServer((incoming, outgoing) => {
    const at = performance.now();
    const { method, headers } = incoming;
    const onward = request(new URL(incoming.url, target), { method, headers }, (answer) => {
      answers.push({
        at,
        answeredAt: performance.now(),
        status: answer.statusCode,
        retryAfter: answer.headers['retry-after'],
      });
      outgoing.writeHead(answer.statusCode, answer.headers);
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
