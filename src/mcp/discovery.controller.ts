import { Controller, Get, Inject, Req, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CONFIG } from '../platform/config/config.token';
import type { Config } from '../platform/config/config';
import { Public } from '../platform/http/protection';
import { StaticContent } from '../platform/http/static-content';
import { apiCatalog, CATALOG_PATH, llmsText } from './discovery';

/** Public pages from which a program finds the document, Swagger UI and the interface for agents. */
@ApiExcludeController()
@Controller({ version: VERSION_NEUTRAL })
export class DiscoveryController {
  private readonly text: StaticContent;
  private readonly linkset: StaticContent;

  constructor(@Inject(CONFIG) config: Config & { readonly mcpEnabled?: boolean }) {
    const addresses = {
      base: config.publicBaseUrl,
      root: config.publicBaseUrl.replace(/\/v1$/, ''),
      hasDocs: config.docsEnabled,
      hasMcp: config.mcpEnabled !== false,
    };
    const markdown = { 'Content-Type': 'text/markdown; charset=utf-8' };
    this.text = new StaticContent(markdown, () => llmsText(addresses));
    const headers = {
      'Content-Type': 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
      Link: `<${addresses.root}/${CATALOG_PATH}>; rel="api-catalog"`,
    };
    this.linkset = new StaticContent(headers, () => JSON.stringify(apiCatalog(addresses)));
  }

  @Get('llms.txt')
  @Public({ isTagged: true })
  llms(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<FastifyReply> {
    return this.text.send(request, reply);
  }

  /** RFC 9727, sections 2 and 4. */
  @Get(CATALOG_PATH)
  @Public({ isTagged: true })
  catalog(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<FastifyReply> {
    return this.linkset.send(request, reply);
  }
}
