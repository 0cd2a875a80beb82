import type { FastifyInstance } from 'fastify';
import type { Config } from '../../platform/config/config';
import { serveStatic } from '../../platform/entity-tags/static-content';
import { API_TITLE, API_VERSION } from './document';
import { originsOf, pageHeaders } from './page-policy';
import { renderPage } from './page-template';

/** The setting of agents belongs to an extension. */
type FrontPageConfig = Config & { readonly mcpEnabled?: boolean };

/**
 * Serves the public page at `/`: it shows what a key may do, and links to the documentation and the health endpoints.
 * Its script sends the key to the configured base URL; if that is a path, to the address in the browser.
 */
export function serveFrontPage(
  fastify: FastifyInstance,
  { publicBaseUrl, mcpEnabled = true }: FrontPageConfig,
): void {
  const html = renderPage('front-page.html', {
    title: API_TITLE,
    version: API_VERSION,
    base: publicBaseUrl,
    // An attribute of HTML.
    agents: mcpEnabled ? '' : 'hidden',
  });
  serveStatic(fastify, '/', pageHeaders(html, { connectTo: originsOf([publicBaseUrl]) }), () => html);
}
