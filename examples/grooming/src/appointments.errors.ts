import { defineErrors } from 'animal-store';

export const appointmentErrors = defineErrors({
  appointment_not_found: {
    status: 404,
    when: 'your account has no appointment with this id',
    message: 'Your account has no appointment with this id.',
  },
  no_place_free: {
    status: 409,
    when: 'every place of the groomer is booked at this time',
    message: 'Every place is booked at this time. Choose another time.',
  },
});
