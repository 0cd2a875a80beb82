export { type EmbeddedOptions, type EmbeddedServer, startEmbedded } from './embedded-server';
