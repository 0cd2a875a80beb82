import { defineScopes } from '../platform/extension/define-scopes';

export const orderScopes = defineScopes('orders', 'read', 'write', 'manage');
