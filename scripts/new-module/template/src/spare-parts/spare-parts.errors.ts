import { defineErrors } from '../platform/errors/define-errors';

/** The codes of spare parts. */
export const sparePartErrors = defineErrors({
  spare_part_not_found: {
    status: 404,
    when: 'no spare part has this id',
    message: 'There is no spare part with this id.',
  },
  spare_part_exists: {
    status: 409,
    when: 'another spare part has this name',
    message: 'Another spare part has this name: choose another name.',
  },
});
