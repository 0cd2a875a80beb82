import { createHmac, randomBytes } from 'node:crypto';
import type { WebhookEntity } from './webhook.entity';

const SECRET_BYTES = 32;
/** A rotation whose response was lost costs no delivery, nor do two. */
const MAX_REPLACED = 3;

/** Lists the replaced secrets that sign, the newest first, when the secret of a webhook is replaced, too. */
export function replaceSecret(webhook: WebhookEntity, now: number, graceMs: number) {
  const { secret, replacedSecrets } = webhook;
  const all = [
    [secret.toString('base64'), new Date(now + graceMs).toISOString()] as const,
    ...replacedSecrets,
  ];
  return all.filter(([, until]) => Date.parse(until) > now).slice(0, MAX_REPLACED);
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
