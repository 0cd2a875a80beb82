import { Controller, Get, Header, Inject, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { CONFIG } from '../platform/config/config.token';
import type { Config } from '../platform/config/config';
import { Public } from '../platform/http/protection';
import { type Addresses, apiCatalog, CATALOG_PATH, llmsText } from './discovery';

/** Public pages from which a program finds the document, Swagger UI and the interface for agents. */
@ApiExcludeController()
@Controller({ version: VERSION_NEUTRAL })
export class DiscoveryController {
  private readonly addresses: Addresses;

  constructor(@Inject(CONFIG) config: Config & { readonly mcpEnabled?: boolean }) {
    this.addresses = {
      base: config.publicBaseUrl,
      root: config.publicBaseUrl.replace(/\/v1$/, ''),
      hasDocs: config.docsEnabled,
      hasMcp: config.mcpEnabled !== false,
    };
  }

  @Get('llms.txt')
  @Public()
  @Header('Content-Type', 'text/markdown; charset=utf-8')
  llms(): string {
    return llmsText(this.addresses);
  }

  /** RFC 9727, sections 2 and 4. */
  @Get(CATALOG_PATH)
  @Public()
  catalog(@Res({ passthrough: true }) reply: FastifyReply): Buffer {
    reply
      .header('Link', `<${this.addresses.root}/${CATALOG_PATH}>; rel="api-catalog"`)
      .header('Content-Type', 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"');
    // Fastify adds a charset to the type of a text, and this type has none.
    return Buffer.from(JSON.stringify(apiCatalog(this.addresses)));
  }
}
