export { type EmbeddedServer, startEmbedded } from './embedded-server';
export type { EmbeddedOptions } from './options';
