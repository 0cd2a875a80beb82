import { existsSync } from 'node:fs';
import { join, sep } from 'node:path';
import { planTable } from '../accounts';
import type { Config } from '../platform/config/config';
import type { OpenDatabase } from '../platform/database/open-database';
import { createDocument } from '../platform/openapi/document';
import { createDemoKey } from './create-demo-key';
import { curlLines } from './curl-lines';
import type { StartedService } from './start';

const PROJECT = join(__dirname, '..', '..');

/** The command line of an installed package, of the project, and of the image, which has no sources. */
const COMMAND = __dirname.split(sep).includes('node_modules')
  ? 'npx animal-store'
  : existsSync(join(PROJECT, 'src'))
    ? 'npm run -s cli --'
    : 'node dist/cli/main.js';

/** Prints text for a person, outside the log. */
export interface Printer {
  /** Resolves when the text is written: true if standard output has a reader. */
  print(text: string): Promise<boolean>;
}

/** Prints the banner. The demo key is created only if standard output has a reader: it cannot be shown again. */
export async function printBanner(service: StartedService, output: Printer): Promise<void> {
  const { app, url, database, config, store } = service;
  const isRead = await output.print(addressLines(url, database, config));
  if (!isRead) return;
  const key = await createDemoKey(app, config, store);
  await output.print(text([...(key === undefined ? newKeyLines() : demoKeyLines(service, key)), '']));
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

function text(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}

function newKeyLines(): string[] {
  return ['Create an API key:', `  ${COMMAND} keys create --account NAME`];
}

/** Explains how to use the API. Never log these lines: they contain a key. */
function demoKeyLines({ app, url, config, store }: StartedService, key: string): string[] {
  const document = createDocument(app, config, store, planTable());
  return [
    'API key of the account demo (plan business), shown only once:',
    `  ${key}`,
    '',
    'A request for each operation:',
    ...curlLines(document, `${url}/v1`, key).map((line) => `  ${line}`),
  ];
}
