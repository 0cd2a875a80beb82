import { Module } from '@nestjs/common';
import * as parsers from '../platform/config/parsers';
import type { Extension } from '../platform/extension/extension';
import { Discovery } from './discovery';
import { McpController } from './mcp.controller';
import { McpService } from './mcp.service';

@Module({ providers: [Discovery, McpService] })
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
  modules: ({ mcpEnabled }) => [
    { module: McpModule, controllers: mcpEnabled === false ? [] : [McpController] },
  ],
};
