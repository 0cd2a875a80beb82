import { createHmac, hash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type ConfigOf } from '../platform/config/config';
import { seal, unseal } from '../platform/runtime/seal';
import type { webhookSettings } from './webhooks.settings';

const SECRET_BYTES = 32;

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

  /** Signs a message by Standard Webhooks with each of these stored secrets. @returns '' if it can read none of them */
  sign(stored: readonly Buffer[], message: string): string {
    return stored
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
