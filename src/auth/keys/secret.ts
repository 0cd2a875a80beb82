import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Config } from '../../config/config';

/**
 * A secret is a prefix, 30 random base62 characters (178 bits) and their CRC-32 as 6 base62 characters. The checksum
 * rejects a mistyped key without a query, and lets secret scanners recognise a real key.
 */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const LAST_FOUR = -4;
const SECRET = new RegExp(
  `^ask_(?:live|test)_([0-9A-Za-z]{${RANDOM_LENGTH}})([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`,
);

export type KeyPrefix = 'ask_live_' | 'ask_test_';

/** Returns the prefix of a deployment's keys. Production keys are invalid in other deployments, and the reverse. */
export function prefixOf(deployment: Config['deployment']): KeyPrefix {
  return deployment === 'production' ? 'ask_live_' : 'ask_test_';
}

export function createSecret(prefix: KeyPrefix): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return `${prefix}${random}${checksum(random)}`;
}

/** True if the prefix, the length and the checksum of a secret are right. */
export function isWellFormed(secret: string): boolean {
  const [, random = '', sum] = SECRET.exec(secret) ?? [];
  return sum !== undefined && sum === checksum(random);
}

/** Returns the SHA-256 of a secret as lower-case hex. Random secrets of 178 bits need no salt and no stretching. */
export function hashOf(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/** Returns the columns that the database stores for a secret. */
export function storedFormOf(secret: string, prefix: KeyPrefix) {
  return { secretHash: Buffer.from(hashOf(secret), 'hex'), prefix, lastFour: secret.slice(LAST_FOUR) };
}

function checksum(random: string): string {
  let rest = crc32(random);
  let text = '';
  while (text.length < CHECKSUM_LENGTH) {
    text = `${ALPHABET[rest % ALPHABET.length]}${text}`;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
}
