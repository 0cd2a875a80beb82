import { defineErrors } from '../api/errors/api-error';

export const eventErrors = defineErrors({
  cursor_expired: {
    status: 410,
    when: 'events after `cursor` were deleted, or the database was restored',
    message:
      'Events after this position were deleted. Request from=now, read the animals and orders again, then follow its next page.',
  },
});
