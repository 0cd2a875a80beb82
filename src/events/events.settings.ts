import * as parsers from '../platform/config/parsers';

export const eventSettings = {
  eventsRetentionDays: {
    variable: 'EVENTS_RETENTION_DAYS',
    defaultText: '7',
    parse: parsers.integer(0, 365),
    meaning: 'Days that events are kept; `0`: none are written.',
  },
};
