import { defineScopes } from '../platform/extension/extension';

export const orderScopes = defineScopes('orders', 'read', 'write', 'manage');
