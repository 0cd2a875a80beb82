import { createHmac, randomBytes } from 'node:crypto';
import type { WebhookEntity } from './webhook.entity';

const SECRET_BYTES = 32;
/** More signatures would make a header that receivers reject. */
const MAX_REPLACED = 10;

/** Lists the replaced secrets of a webhook when its secret is replaced, too, which signs until a time. */
export function replaceSecret({ secret, replacedSecrets }: WebhookEntity, until: Date) {
  return [[secret.toString('base64'), until.toISOString()] as const, ...replacedSecrets].slice(
    0,
    MAX_REPLACED,
  );
}

/** Makes a secret, as it is stored. */
export function createSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

/** Returns a secret as the receiver gets it. */
export function printSecret(secret: Buffer): string {
  return `whsec_${secret.toString('base64')}`;
}

/** Signs a message by Standard Webhooks with each secret in force. */
export function sign(webhook: WebhookEntity, now: number, message: string): string {
  const replaced = webhook.replacedSecrets.filter(([, until]) => Date.parse(until) > now);
  return [webhook.secret, ...replaced.map(([secret]) => Buffer.from(secret, 'base64'))]
    .map((secret) => `v1,${createHmac('sha256', secret).update(message).digest('base64')}`)
    .join(' ');
}
