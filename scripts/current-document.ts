import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { createStore } from '../src/app/store';
import { AppModule, VERSIONING } from '../src/app/app.module';
import { SystemClock } from '../src/platform/runtime/clock';
import { readConfig } from '../src/platform/config/config';
import { planTable } from '../src/accounts';
import { createDocument, jsonText } from '../src/server/openapi/document';

/** Creates the document of the current code under the default settings, without a database. */
export async function currentDocument(): Promise<string> {
  const store = createStore();
  const config = { ...readConfig({}, store.settings), databaseUrl: 'postgres://nowhere' };
  const app = await NestFactory.create(
    AppModule.forRoot(config, new SystemClock(), store),
    new FastifyAdapter(),
    {
      preview: true,
      logger: false,
      abortOnError: false,
    },
  );
  app.enableVersioning(VERSIONING);
  const text = jsonText(createDocument(app, config, store.extensions(config), store.errors, planTable()));
  await app.close();
  return text;
}
