import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { CONFIG, type Config, siteOf } from '../platform/config/config';
import { serveStatic } from '../platform/entity-tags/static-content';

/** The page from which a language model finds the document, Swagger UI and the interface for agents. */
@Injectable()
export class Discovery implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost<FastifyAdapter>,
    @Inject(CONFIG) private readonly config: Config & { readonly mcpEnabled?: boolean },
  ) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance();
    const { publicBaseUrl: base, docsEnabled, mcpEnabled = true } = this.config;
    const root = siteOf(base);
    const docs = `- [Swagger UI](${root}/docs): the same for people, with a form for each operation\n`;
    const mcp = `- [Model Context Protocol](${root}/mcp): Streamable HTTP; one tool for each operation that the key may use\n`;
    const text = `# Animal Store API

> An HTTP/JSON API of a store for animals: list, add, change and order animals.

Every request needs an API key: \`Authorization: Bearer <API_KEY>\`. The operator of this deployment creates keys. Requests are limited per minute and per day by the plan of the account. Identifiers are int64: keep integers beyond 2^53 exact.

## Links

- [OpenAPI document](${root}/openapi.json): every operation, parameter, limit and error of the API below ${base}
- [Guide](${root}/guide): how to use them, with examples; [as one text](${root}/llms-full.txt)
${docsEnabled ? docs : ''}${mcpEnabled ? mcp : ''}`;
    // The page for language models (llmstxt.org).
    serveStatic(fastify, '/llms.txt', () => [{ 'Content-Type': 'text/markdown; charset=utf-8' }, text]);
  }
}
