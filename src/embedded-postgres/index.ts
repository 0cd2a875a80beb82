export { type EmbeddedOptions, type EmbeddedServer, joinEmbedded, startEmbedded } from './embedded-server';
export { EmbeddedServerError } from './programs';
