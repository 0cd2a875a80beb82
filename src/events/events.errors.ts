import { defineErrors } from '../platform/errors/define-errors';

export const eventErrors = defineErrors({
  cursor_expired: {
    status: 410,
    when: 'events after the cursor were deleted, or the database was restored',
    message:
      'Events after this cursor were deleted. Read the animals and orders again, then continue without a cursor.',
  },
});
