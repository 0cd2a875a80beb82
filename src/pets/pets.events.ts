import type { EventTypes } from '../platform/extension/extension';
import { Pet } from './pets.dto';
import { petScopes } from './pets.scopes';

const facts = { data: Pet, scope: petScopes.read, isShared: true } as const;

/** The events that the triggers of the table write. */
export const petEvents = {
  'pet.created': facts,
  'pet.updated': facts,
  'pet.deleted': facts,
} satisfies EventTypes;
