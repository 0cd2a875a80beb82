import { defineScopes } from '../platform/extension/define-scopes';

export const eventScopes = defineScopes('events', 'read');
