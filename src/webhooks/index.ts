export { webhooksExtension } from './webhooks.extension';
