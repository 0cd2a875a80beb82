import { defineScopes } from '../platform/extension/define-scopes';

export const petScopes = defineScopes('pets', 'read', 'write', 'manage');
