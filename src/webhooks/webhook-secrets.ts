import { createCipheriv, createDecipheriv, createHmac, hash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type ConfigOf } from '../platform/config/config';
import type { webhookSettings } from './webhooks.settings';

const CIPHER = 'aes-256-gcm';
const SECRET_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

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
    return { secret: `whsec_${secret.toString('base64')}`, stored: this.seal(secret) };
  }

  /** Signs a message by Standard Webhooks with each of these stored secrets. @returns '' if it can read none of them */
  sign(stored: readonly Buffer[], message: string): string {
    return stored
      .flatMap((each) => this.open(each) ?? [])
      .map((secret) => `v1,${createHmac('sha256', secret).update(message).digest('base64')}`)
      .join(' ');
  }

  private seal(secret: Buffer): Buffer {
    if (!this.key) return secret;
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.key, iv);
    const sealed = [cipher.update(secret), cipher.final()];
    return Buffer.concat([iv, cipher.getAuthTag(), ...sealed]);
  }

  /** @returns undefined if the secret was encrypted with another key */
  private open(stored: Buffer): Buffer | undefined {
    // An encrypted one is longer.
    if (stored.length === SECRET_BYTES) return stored;
    if (!this.key) return undefined;
    try {
      const decipher = createDecipheriv(CIPHER, this.key, stored.subarray(0, IV_BYTES));
      decipher.setAuthTag(stored.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      return Buffer.concat([decipher.update(stored.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
    } catch {
      return undefined;
    }
  }
}
