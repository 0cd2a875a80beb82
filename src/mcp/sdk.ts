export type Sdk = typeof import('@modelcontextprotocol/server');

/** Loads the official SDK on its first use: it takes 0.1 s and about 10 MiB, and many deployments have no agents. */
export function loadSdk(): Sdk {
  const sdk: Sdk = require('@modelcontextprotocol/server');
  return sdk;
}
