/** Settings of earlier versions by their variable, and what replaces each. */
export const GONE_SETTINGS: Readonly<Record<string, string>> = {
  EMBEDDED_PG_BIN: 'remove it, or set DATABASE_URL to another PostgreSQL',
  WEBHOOKS_KEY: 'remove it, encrypt the disk instead, and replace encrypted secrets with rotateWebhook',
  WEBHOOKS_KEY_FILE: 'remove it as WEBHOOKS_KEY',
};
