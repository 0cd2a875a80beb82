import { parsers } from 'animal-store';

export const groomingSettings = {
  groomingPlaces: {
    variable: 'GROOMING_PLACES',
    defaultText: '2',
    parse: parsers.integer(1, 100),
    meaning: 'Number of animals that can be groomed at the same time.',
  },
};
