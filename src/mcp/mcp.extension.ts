import { Module } from '@nestjs/common';
import * as parsers from '../config/parsers';
import type { Extension } from '../api/extension/extension';
import { McpController } from './mcp.controller';
import { McpService } from './mcp.service';

@Module({ controllers: [McpController], providers: [McpService] })
class McpModule {}

export const mcpExtension: Extension = {
  name: 'mcp',
  settings: {
    mcpEnabled: {
      variable: 'MCP_ENABLED',
      defaultText: 'true',
      parse: parsers.boolean,
      meaning: '`false`: `/mcp`, the interface for agents, is 404.',
    },
  },
  modules: ({ mcpEnabled }) => (mcpEnabled === false ? [] : [McpModule]),
};
