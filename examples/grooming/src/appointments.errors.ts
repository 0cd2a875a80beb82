import { defineErrors } from 'animal-store';

export const appointmentErrors = defineErrors({
  grooming_appointment_not_found: {
    status: 404,
    when: 'your account has no appointment with this id',
    message: 'Your account has no appointment with this id.',
  },
  too_many_grooming_appointments: {
    status: 409,
    when: 'the animal has as many booked appointments as the service allows',
    message: 'The animal has too many booked appointments. Remove one of them first.',
  },
  pet_has_grooming_appointment: {
    status: 409,
    when: 'the animal has booked appointments',
    message: 'The animal has booked appointments. Remove them first.',
  },
});
