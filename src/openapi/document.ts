import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Config } from '../config/config';

const DESCRIPTION = `Animals of a store: list them, add one, fetch one.

Every operation needs an API key, sent as \`Authorization: Bearer <API_KEY>\`. Every error has the same body:
\`code\`, \`message\`, \`status\`.

**Lists** are bare arrays ordered by \`id\`. The \`Link\` header of a page leads to the next one (\`rel="next"\`,
RFC 8288); the last page has none.`;

/** The OpenAPI document, made from the controllers and DTO classes. Paths are relative to the base URL. */
export function createDocument(app: INestApplication, config: Config): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setTitle('Animal Store')
    .setDescription(DESCRIPTION)
    .setVersion('1.0.0')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addTag('pets', 'Animals')
    .addTag('store orders', "The account's orders of animals")
    .addBearerAuth({
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'API key',
      description: 'An API key of an account: `ask_live_…` in production, `ask_test_…` elsewhere.',
    });
  if (config.deployment === 'production') builder.addServer(config.publicBaseUrl, 'Production');
  else builder.addServer(config.publicBaseUrl, 'This deployment');
  if (config.stagingBaseUrl !== undefined) builder.addServer(config.stagingBaseUrl, 'Staging');
  const document = SwaggerModule.createDocument(app, builder.build());
  return { ...document, paths: belowBase(document.paths) };
}

/** The version prefix is part of the base URL, so it must not stand in the paths too. */
function belowBase(paths: OpenAPIObject['paths']): OpenAPIObject['paths'] {
  return Object.fromEntries(
    Object.entries(paths).map(([path, item]) => [path.replace(/^\/v1(?=\/)/, ''), item]),
  );
}
