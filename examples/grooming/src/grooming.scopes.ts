import { defineScopes } from 'animal-store';

export const groomingScopes = defineScopes('grooming', 'read', 'write');
