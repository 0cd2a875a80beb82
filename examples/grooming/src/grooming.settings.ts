import { parsers } from 'animal-store';

export const groomingSettings = {
  groomingMaxBooked: {
    variable: 'GROOMING_MAX_BOOKED',
    defaultText: '3',
    parse: parsers.integer(1, 100),
    meaning: 'Maximum number of booked appointments of an animal.',
  },
};
