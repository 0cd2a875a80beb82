export { mcpExtension } from './mcp.extension';
