import { defineErrors } from '../api/errors/api-error';

export const petErrors = defineErrors({
  pet_not_found: { status: 404, when: 'no animal has this id', message: 'There is no animal with this id.' },
  pet_not_available: {
    status: 409,
    when: 'the animal is reserved or sold',
    message: 'The animal is not available: it is reserved or sold.',
  },
  pet_has_open_order: {
    status: 409,
    when: 'an order of the animal is neither delivered nor cancelled',
    message: 'An open order holds the animal: deliver or cancel the order first.',
  },
  pet_in_use: {
    status: 409,
    when: 'records of another module refer to the animal',
    message: 'Other records of the store refer to the animal: remove them first.',
  },
});
