import * as parsers from '../platform/config/parsers';

export const eventSettings = {
  eventsRetentionDays: {
    variable: 'EVENTS_RETENTION_DAYS',
    defaultText: '30',
    parse: parsers.integer(4, 365),
    meaning: 'Days that events are kept, at least 4: deliveries to a webhook are retried for 3 days.',
  },
};
