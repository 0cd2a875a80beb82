import { defineScopes } from '../api/extension/extension';

export const orderScopes = defineScopes('orders', 'read', 'write', 'manage');
