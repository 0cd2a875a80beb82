// Receives webhooks, verifies them by Standard Webhooks, and prints the events. WEBHOOK_SECRET is that of createWebhook.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const TOLERANCE_SECONDS = 300;
const MAX_BODY_BYTES = 65_536;
const MAX_HANDLED = 10_000;
const { WEBHOOK_SECRET = '', PORT = '8080' } = process.env;
const key = Buffer.from(WEBHOOK_SECRET.trim().replace(/^whsec_/, ''), 'base64');
if (key.length === 0) throw new Error('Set WEBHOOK_SECRET to the secret of the webhook: whsec_…');

/** The ids of the events that were handled. Keep them in your database: an event can arrive twice. */
const handled = new Set();

function isValid(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures = '' } = headers;
  const age = Math.abs(Date.now() / 1_000 - Number(timestamp));
  if (!(age <= TOLERANCE_SECONDS)) return false;
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest();
  return signatures.split(' ').some((signature) => {
    const given = Buffer.from(signature.replace(/^v1,/, ''), 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

async function textOf(request) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    if ((bytes += chunk.length) > MAX_BODY_BYTES) throw new Error('The body is too long.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

const server = createServer(async (request, response) => {
  // A sender that disconnects, or sends too much, has no body, and must not end the process.
  const body = await textOf(request).catch(() => '');
  const isTrue = isValid(request.headers, body);
  const id = request.headers['webhook-id'];
  // JSON.parse rounds ids above 2^53. Print the text, or use a parser that does not round.
  if (!isTrue) console.log('rejected a delivery: the signature or the time is wrong');
  else if (!handled.has(id)) console.log(handled.add(id) && body);
  if (handled.size > MAX_HANDLED) handled.delete(handled.values().next().value);
  response.writeHead(isTrue ? 204 : 400).end();
});

server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Receives webhooks at http://127.0.0.1:${server.address().port}`);
});
