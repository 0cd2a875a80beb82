import type { OwnEvent, WebhookEvent } from './events.js';
import { INT64_MEMBERS } from './generated/values.js';
import { parseJson } from './json.js';

type HeaderValue = string | readonly string[] | undefined;

/** A delivery, as most servers have it: `headers` and the body as it was received, byte for byte. */
export interface WebhookRequest {
  /** In any case: `Headers`, a `Map` or an object. */
  readonly headers: Iterable<readonly [string, HeaderValue]> | Readonly<Record<string, HeaderValue>>;
  readonly body: string | Uint8Array;
}

export interface VerifyOptions {
  /** The greatest difference between the time of the delivery and the clock, in seconds. Default 300. */
  readonly toleranceSeconds?: number;
}

const int64Members = new Set<string>(INT64_MEMBERS);

/**
 * Verifies a delivery of a webhook (Standard Webhooks), and returns its event. `Own` are those of extensions.
 *
 * @param secret `whsec_…`, or several
 * @throws Error if no secret has signed the delivery, it is too old, or a secret is invalid
 */
export async function verifyWebhook<Own extends OwnEvent = never>(
  request: Request | WebhookRequest,
  secret: string | readonly string[],
  { toleranceSeconds = 300 }: VerifyOptions = {},
): Promise<WebhookEvent<Own>> {
  const { headers } = request;
  const entries = Symbol.iterator in headers ? [...headers] : Object.entries(headers);
  const given = entries.filter(([, value]) => value !== undefined);
  const values = new Map(given.map(([name, value]) => [name.toLowerCase(), [value].flat().join(' ')]));
  const header = (name: string): string => values.get(name) ?? '';
  const timestamp = header('webhook-timestamp');
  const text = 'text' in request ? await request.text() : textOf(request.body);
  const age = Math.abs(Date.now() / 1_000 - Number(timestamp));
  if (!/^\d+$/.test(timestamp) || age > toleranceSeconds)
    throw new Error('The webhook-timestamp is missing, too old or too new.');
  const message = new TextEncoder().encode(`${header('webhook-id')}.${timestamp}.${text}`);
  const keys = await Promise.all([secret].flat().map(keyOf));
  for (const key of keys)
    for (const signature of header('webhook-signature').split(' '))
      if (signature.startsWith('v1,') && (await isSigned(message, signature.slice('v1,'.length), key)))
        // The signature shows that the service has sent it.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        return parseJson(text, int64Members) as WebhookEvent<Own>;
  throw new Error('No webhook-signature is valid: the secret is another one, or the body was changed.');
}

/** @throws Error if the secret has no bytes: any sender could sign with it */
async function keyOf(secret: string): Promise<CryptoKey> {
  // A secret from a file ends with a line end.
  const bytes = bytesOf(secret.trim().replace(/^whsec_/, ''));
  if (bytes.length === 0) throw new Error('The secret must be whsec_ and base64.');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

/** `verify` of Web Crypto compares in constant time. */
function isSigned(message: Uint8Array<ArrayBuffer>, signature: string, key: CryptoKey): Promise<boolean> {
  return crypto.subtle.verify('HMAC', key, bytesOf(signature), message);
}

/** Decodes base64; invalid text has no bytes. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(base64) && base64.length % 4 === 0;
  return Uint8Array.from(isBase64 ? atob(base64) : '', (character) => character.charCodeAt(0));
}

function textOf(body: string | Uint8Array): string {
  return typeof body === 'string' ? body : new TextDecoder('utf-8', { ignoreBOM: true }).decode(body);
}
