import { defineScopes } from '../platform/extension/define-scopes';

export const sparePartScopes = defineScopes('spare-parts', 'read', 'write');
