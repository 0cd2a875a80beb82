import { defineScopes } from '../platform/extension/extension';

export const petScopes = defineScopes('pets', 'read', 'write', 'manage');
