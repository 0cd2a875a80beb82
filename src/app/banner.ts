import type { Config } from '../platform/config/config';
import type { OpenDatabase } from '../platform/database/open-database';
import { createDemoKey } from './create-demo-key';
import type { StartedService } from './start';

/** Prints text for a person, outside the log. */
export interface Printer {
  /** Resolves when the text is written: true if standard output has a reader. */
  print(text: string): Promise<boolean>;
}

/** Prints the banner. The demo key is created only if standard output has a reader: it cannot be shown again. */
export async function printBanner(service: StartedService, output: Printer): Promise<void> {
  const { app, url, database, config, store } = service;
  const isRead = await output.print(addressLines(url, database, config));
  if (isRead) await output.print(keyLines(url, await createDemoKey(app, config, store)));
}

/** Lists the addresses and the location of the database. */
function addressLines(url: string, database: OpenDatabase, config: Config): string {
  const place = database.directory === undefined ? 'DATABASE_URL' : `embedded, data in ${database.directory}`;
  return text([
    '',
    `Animal Store listens on ${url} (${config.deployment}).`,
    ...(config.docsEnabled ? [`  Swagger UI   ${url}/docs`] : []),
    `  OpenAPI      ${url}/openapi.json  ${url}/openapi.yaml`,
    `  Health       ${url}/livez  ${url}/readyz`,
    `  PostgreSQL   ${place}`,
    ...database.notices.map((notice) => `  ${notice}`),
    '',
  ]);
}

/** Explains how to use the API. Never log this text: it may contain a key. */
function keyLines(url: string, key: string | undefined): string {
  return text([...(key === undefined ? newKeyLines() : demoKeyLines(url, key)), '']);
}

function text(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}

function newKeyLines(): string[] {
  return ['Create an API key:', '  npm run -s cli -- keys create --account NAME'];
}

function demoKeyLines(url: string, key: string): string[] {
  const curl = `curl -H 'Authorization: Bearer ${key}'`;
  const json = `-H 'Content-Type: application/json'`;
  return [
    'API key of the account demo (plan business), shown only once:',
    `  ${key}`,
    '',
    'Add an animal, list the animals, fetch one (deprecated); order it, list your orders, fetch one, approve it:',
    `  ${curl} ${json} -d '{"name":"Rex","categoryId":3}' ${url}/v1/pets`,
    `  ${curl} '${url}/v1/pets?limit=20&status=available'`,
    `  ${curl} ${url}/v1/pets/1`,
    `  ${curl} ${json} -d '{"petId":1}' ${url}/v1/store/orders`,
    `  ${curl} ${url}/v1/store/orders`,
    `  ${curl} ${url}/v1/store/orders/1`,
    `  ${curl} ${json} -X PATCH -d '{"status":"approved"}' ${url}/v1/store/orders/1`,
  ];
}
