import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ApiKeysService, SCOPES } from './auth';
import type { Config } from './config/config';
import type { OpenDatabase } from './database/open-database';
import type { StartedService } from './start';

const DEMO_KEY_DAYS = 365;
const MS_PER_DAY = 86_400_000;

/** Prints text for a person, outside the log. */
export interface Printer {
  /** Resolves when it is written: true if there is a reader. */
  print(text: string): Promise<boolean>;
}

/** Prints the banner. The first key is created only if its reader is there: it cannot be shown again. */
export async function greet(service: StartedService, output: Printer): Promise<void> {
  const { app, url, database, config } = service;
  const isRead = await output.print(addressLines(url, database, config));
  if (isRead) await output.print(keyLines(url, await firstKey(app, config)));
}

/** Makes the account `demo` and a key for it on the first start of a development deployment; else undefined. */
export async function firstKey(
  app: NestFastifyApplication,
  { deployment }: Config,
): Promise<string | undefined> {
  if (deployment !== 'development') return undefined;
  const issued = await app.get(ApiKeysService, { strict: false }).createFirst({
    account: 'demo',
    choice: { plan: 'business', perMinute: null, perDay: null },
    scopes: SCOPES,
    expiresAt: new Date(Date.now() + DEMO_KEY_DAYS * MS_PER_DAY),
    label: 'first start',
  });
  return issued?.key;
}

/** Says what runs at which address. */
function addressLines(url: string, database: OpenDatabase, config: Config): string {
  const where = database.directory === undefined ? 'DATABASE_URL' : `embedded, data in ${database.directory}`;
  return text([
    '',
    `Animal Store listens on ${url} (${config.deployment}).`,
    ...(config.docsEnabled ? [`  Swagger UI   ${url}/docs`] : []),
    `  OpenAPI      ${url}/openapi.json  ${url}/openapi.yaml`,
    `  Health       ${url}/livez  ${url}/readyz`,
    `  PostgreSQL   ${where}`,
    ...database.notices.map((notice) => `  ${notice}`),
    '',
  ]);
}

/** Says how to use it; printed and never logged, because it may hold a key. */
function keyLines(url: string, key: string | undefined): string {
  return text([...(key === undefined ? createKeyLines() : firstKeyLines(url, key)), '']);
}

function text(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}

function createKeyLines(): string[] {
  return ['Create an API key:', '  npm run -s cli -- keys create --account NAME'];
}

function firstKeyLines(url: string, key: string): string[] {
  const curl = `curl -H 'Authorization: Bearer ${key}'`;
  const json = `-H 'Content-Type: application/json'`;
  return [
    'An API key of the account demo (plan business), shown this once:',
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
