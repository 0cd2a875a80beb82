import { createHmac, hash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type ConfigOf } from '../platform/config/config';
import { seal, unseal } from '../platform/runtime/seal';
import type { WebhookEntity } from './webhook.entity';
import type { webhookSettings } from './webhooks.settings';

const SECRET_BYTES = 32;
/** More signatures would make a header that receivers reject. */
const MAX_REPLACED = 10;

/** Lists the replaced secrets of a webhook as `olderSecrets` has them. */
export function replacedSecrets(webhook: WebhookEntity): WebhookEntity['olderSecrets'] {
  const { previousSecret, previousSecretUntil, olderSecrets } = webhook;
  if (!previousSecret || !previousSecretUntil) return olderSecrets;
  const newest = [previousSecret.toString('base64'), previousSecretUntil.toISOString()] as const;
  return [newest, ...olderSecrets].slice(0, MAX_REPLACED);
}

/** Makes secrets of webhooks, stores them, encrypted if WEBHOOKS_KEY is set, and signs with them. */
@Injectable()
export class WebhookSecrets {
  private readonly key: Buffer | undefined;

  constructor(@Inject(CONFIG) { webhooksKey }: ConfigOf<typeof webhookSettings>) {
    this.key = webhooksKey === undefined ? undefined : hash('sha256', webhooksKey, 'buffer');
  }

  /** Makes a secret, as the receiver gets it and as it is stored. */
  create(): { readonly secret: string; readonly stored: Buffer } {
    const secret = randomBytes(SECRET_BYTES);
    return {
      secret: `whsec_${secret.toString('base64')}`,
      stored: this.key ? seal(this.key, secret) : secret,
    };
  }

  /** Signs a message by Standard Webhooks with each secret in force. @returns '' if it can read none of them */
  sign(webhook: WebhookEntity, now: number, message: string): string {
    const replaced = replacedSecrets(webhook).filter(([, until]) => Date.parse(until) > now);
    return [webhook.secret, ...replaced.map(([secret]) => Buffer.from(secret, 'base64'))]
      .flatMap((each) => this.open(each) ?? [])
      .map((secret) => `v1,${createHmac('sha256', secret).update(message).digest('base64')}`)
      .join(' ');
  }

  /** @returns undefined if the secret was encrypted with another key */
  private open(stored: Buffer): Buffer | undefined {
    // An encrypted one is longer.
    if (stored.length === SECRET_BYTES) return stored;
    if (!this.key) return undefined;
    try {
      return unseal(this.key, stored);
    } catch {
      return undefined;
    }
  }
}
