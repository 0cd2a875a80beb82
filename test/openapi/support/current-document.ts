import 'reflect-metadata';
import { VersioningType } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AppModule } from '../../../src/app.module';
import { SystemClock } from '../../../src/clock';
import { readConfig } from '../../../src/config/config';
import { createDocument } from '../../../src/openapi/document';
import { jsonText } from '../../../src/openapi/document-text';

/** The document of the code as it stands, under the default settings; no database is needed. */
export async function currentDocument(): Promise<string> {
  const config = { ...readConfig({}), databaseUrl: 'postgres://nowhere' };
  const app = await NestFactory.create(AppModule.forRoot(config, new SystemClock()), new FastifyAdapter(), {
    preview: true,
    logger: false,
    abortOnError: false,
  });
  app.enableVersioning({ type: VersioningType.URI });
  const text = jsonText(createDocument(app, config));
  await app.close();
  return text;
}
