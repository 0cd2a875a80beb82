export { type EmbeddedOptions, type EmbeddedServer, startEmbedded } from './embedded-server';
export { EmbeddedServerError } from './programs';
export { startTestServer, type TestDatabase, type TestServer } from './test-server';
