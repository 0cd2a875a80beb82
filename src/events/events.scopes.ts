import { defineScopes } from '../platform/extension/extension';

export const eventScopes = defineScopes('events', 'read');
