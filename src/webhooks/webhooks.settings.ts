import * as parsers from '../platform/config/parsers';

export const webhookSettings = {
  webhooksAllowPrivate: {
    variable: 'WEBHOOKS_ALLOW_PRIVATE',
    defaultText: 'false',
    parse: parsers.boolean,
    meaning:
      '`true` or `false`: whether webhooks may have `http` URLs and private, loopback or link-local addresses. Only for development.',
  },
};
