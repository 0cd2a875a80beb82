export { mcpExtension } from './mcp.extension';
export { serveStandardIo } from './stdio/serve-standard-io';
