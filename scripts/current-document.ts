import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AppModule, VERSIONING } from '../src/app/app.module';
import { createStore } from '../src/app/store';
import { readConfig } from '../src/config/config';
import { SystemClock } from '../src/time/clock';
import { planTable } from '../src/auth';
import { OpenApiDocument } from '../src/api/openapi/document';

/** Creates the document of the current code under the default settings, without a database. */
export async function currentDocument(): Promise<string> {
  const store = createStore();
  const config = readConfig({}, store.settings);
  const module = AppModule.forRoot({ ...config, databaseUrl: 'postgres://none' }, new SystemClock(), store);
  // Without instances: nothing is connected, and no provider runs.
  const app = await NestFactory.create(module, new FastifyAdapter(), { preview: true, logger: false });
  app.enableVersioning(VERSIONING);
  const text = OpenApiDocument.create(app, config, store, store.errors, planTable()).toJson();
  await app.close();
  return text;
}
