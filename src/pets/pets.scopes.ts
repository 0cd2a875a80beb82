import { defineScopes } from '../api/extension/extension';

export const petScopes = defineScopes('pets', 'read', 'write', 'manage');
