import * as parsers from '../platform/config/parsers';

/** The key of AES is a hash of the text, so the text must not be guessable. */
const MIN_KEY_LENGTH = 32;

export const webhookSettings = {
  webhooksAllowPrivate: {
    variable: 'WEBHOOKS_ALLOW_PRIVATE',
    defaultText: 'false',
    parse: parsers.boolean,
    meaning:
      '`true` or `false`: whether webhooks may have `http` URLs and private, loopback or link-local addresses. Only for development.',
  },
  webhooksKey: {
    variable: 'WEBHOOKS_KEY',
    defaultText: '',
    parse: parsers.optional((value) => {
      if (value.length < MIN_KEY_LENGTH) throw new Error(`must have at least ${MIN_KEY_LENGTH} characters`);
      return value;
    }),
    meaning: `Key that encrypts the secrets of webhooks in the database, at least ${MIN_KEY_LENGTH} characters such as from \`openssl rand -base64 32\`; empty: they are stored as they are. Webhooks created with another key need a new secret.`,
    isSecret: true,
  },
};
