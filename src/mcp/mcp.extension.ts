import * as parsers from '../platform/config/parsers';
import type { Extension } from '../platform/extension/extension';
import { DiscoveryModule } from './discovery.module';
import { McpModule } from './mcp.module';

const settings = {
  mcpEnabled: {
    variable: 'MCP_ENABLED',
    defaultText: 'true',
    parse: parsers.boolean,
    meaning: '`false`: `/mcp`, the interface for agents, is 404.',
  },
};

export const mcpExtension: Extension = {
  name: 'mcp',
  settings,
  modules: ({ mcpEnabled }) => [DiscoveryModule, ...(mcpEnabled === false ? [] : [McpModule])],
};
