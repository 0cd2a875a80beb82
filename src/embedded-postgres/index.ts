export { startEmbedded, type EmbeddedOptions, type EmbeddedServer } from './embedded-server';
export { EmbeddedServerError } from './errors';
export { joinEmbedded } from './join';
