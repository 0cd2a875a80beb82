import { defineScopes } from '../platform/extension/define-scopes';

export const webhookScopes = defineScopes('webhooks', 'manage');
