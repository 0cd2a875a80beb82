import { defineErrors } from '../platform/errors/define-errors';

/** The codes of animals. */
export const petErrors = defineErrors({
  pet_not_found: {
    status: 404,
    when: 'no animal has this id',
    message: 'There is no animal with this id.',
  },
  pet_not_available: {
    status: 409,
    when: 'the animal is reserved or sold',
    message: 'The animal is not available: it is reserved or sold.',
  },
});
