import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { onSendHookHandler } from 'fastify';
import { JSON_TYPE } from '../errors/error-reply';
import { API_TITLE } from './document';
import { jsonText, yamlText } from './document-text';
import { pageHeaders } from './page-policy';

const OURS = /^\/docs(?:$|\/)/;
const PAGE = /^\/docs(?:\/|\/index\.html)?$/;

/** How Swagger UI behaves; operations stand in the document's order as long as nobody sorts them. */
const UI_OPTIONS = {
  deepLinking: true,
  displayOperationId: true,
  displayRequestDuration: true,
  persistAuthorization: true,
  // The default is another host.
  validatorUrl: 'none',
};

/** Nest's page lacks it, and telephones would show the page as if it were a wide one. */
const VIEWPORT = '<meta name="viewport" content="width=device-width, initial-scale=1">';

/** What Swagger UI's logo brings along when it is drawn. */
const LOGO_STYLE = '.logo_small_svg__cls-2{fill:#fff}.logo_small_svg__cls-3{fill:#85ea2d}';

/** The document has no OpenAPI links: on a narrow window their column alone would not fit. */
const EXTRA_CSS = '.swagger-ui .response-col_links { display: none }';

/** Serves Swagger UI at /docs and the document at /openapi.json and /openapi.yaml, to anyone. */
export function serveDocument(app: NestFastifyApplication, document: OpenAPIObject): void {
  const fastify = app.getHttpAdapter().getInstance();
  const completePage = pageHook(document);
  fastify.addHook('onRoute', (route) => {
    if (!OURS.test(route.url)) return;
    route.config = { ...route.config, public: true };
    if (PAGE.test(route.url)) route.onSend = [completePage, ...[route.onSend ?? []].flat()];
  });
  SwaggerModule.setup('docs', app, document, {
    raw: false,
    customSiteTitle: `${API_TITLE} API`,
    customCss: EXTRA_CSS,
    swaggerOptions: UI_OPTIONS,
  });
  const [json, yaml] = [jsonText(document), yamlText(document)];
  const config = { public: true };
  fastify.get('/openapi.json', { config }, (_request, reply) => reply.type(JSON_TYPE).send(json));
  // RFC 9512.
  fastify.get('/openapi.yaml', { config }, (_request, reply) =>
    reply.type('application/yaml; charset=utf-8').send(yaml),
  );
}

/** Completes Nest's page on its way out. */
function pageHook(document: OpenAPIObject): onSendHookHandler {
  const allowed = { connectTo: originsOf(document), styles: [LOGO_STYLE] };
  return (_request, reply, payload, done) => {
    const html = String(payload).replace('<head>', `<head>\n  ${VIEWPORT}`);
    reply.headers(pageHeaders(html, allowed));
    done(null, html);
  };
}

/** The servers that "Try it out" may be pointed at, where they are not our own origin. */
function originsOf({ servers = [] }: OpenAPIObject): string[] {
  return servers.filter(({ url }) => URL.canParse(url)).map(({ url }) => new URL(url).origin);
}
