import { Inject, Module, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { CONFIG, type Config, siteOf } from '../platform/config/config';
import * as parsers from '../platform/config/parsers';
import { serveStatic } from '../platform/entity-tags/static-content';
import type { Extension } from '../platform/extension/extension';
import { McpController } from './mcp.controller';
import { McpService } from './mcp.service';

type McpConfig = Config & { readonly mcpEnabled?: boolean };

@Module({ providers: [McpService] })
class McpModule implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost<FastifyAdapter>,
    @Inject(CONFIG) private readonly config: McpConfig,
  ) {}

  /** Serves the page for language models (llmstxt.org). */
  onModuleInit(): void {
    const headers = { 'Content-Type': 'text/markdown; charset=utf-8' };
    serveStatic(this.host.httpAdapter.getInstance(), '/llms.txt', () => [headers, pageOf(this.config)]);
  }
}

function pageOf({ publicBaseUrl: base, docsEnabled, mcpEnabled = true }: McpConfig): string {
  const root = siteOf(base);
  const docs = `- [Swagger UI](${root}/docs): the same for people, with a form for each operation\n`;
  const mcp = `- [Model Context Protocol](${root}/mcp): Streamable HTTP; one tool for each operation that the key may use\n`;
  return `# Animal Store API

> An HTTP/JSON API of a store for animals: list, add, change and order animals.

Every request needs an API key: \`Authorization: Bearer <API_KEY>\`. The operator of this deployment creates keys. Requests are limited per minute and per day by the plan of the account. Identifiers are int64: keep integers beyond 2^53 exact.

## Links

- [OpenAPI document](${root}/openapi.json): every operation, parameter, limit and error of the API below ${base}
- [Guide](${root}/guide): how to use them, with examples; [as one text](${root}/llms-full.txt)
${docsEnabled ? docs : ''}${mcpEnabled ? mcp : ''}`;
}

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
