import { sep } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ApiKeysService, KEY_DAYS } from '../auth';
import type { LogStream } from '../http/logger';
import type { Config } from '../config/config';
import { ADMIN_SCOPE } from '../api/extension/extension';
import { Clock } from '../time/clock';
import { DAY_MS } from '../time/time';
import type { StartedService } from './start';
import { DEFAULT_SCOPES, type Store, version } from './store';

const isInstalled = [__dirname, process.argv[1] ?? ''].every((path) =>
  path.split(sep).includes('node_modules'),
);

/** The project, its image and a team's program have this script; an installed package has its own command. */
const COMMAND = isInstalled ? 'npx animal-store' : 'npm run -s cli --';

/** Prints the banner, with the demo key of a first start, which cannot be shown again. */
export async function printBanner(service: StartedService, output: LogStream): Promise<void> {
  const key = await createDemoKey(service.app, service.config, service.store);
  const added = service.store.added.flatMap(({ scopes = [] }) => scopes);
  const scopes = added.length > 0 ? ` --scopes ${[...DEFAULT_SCOPES, ...added].join(',')}` : '';
  const newKey = ['Create an API key:', `  ${COMMAND} keys create --account NAME${scopes}`];
  const keyLines = key === undefined ? newKey : demoKeyLines(service.url, key);
  output.write([...addressLines(service), '', ...keyLines, '\n'].join('\n'));
}

/**
 * Creates the account `demo` and a key with every scope, on the first start of a development deployment.
 *
 * @returns the secret; undefined on later starts and in other deployments
 */
export async function createDemoKey(
  app: NestFastifyApplication,
  { deployment }: Config,
  { scopes }: Store,
): Promise<string | undefined> {
  if (deployment !== 'development') return undefined;
  const issued = await app.get(ApiKeysService, { strict: false }).createFirst({
    account: 'demo',
    choice: { plan: 'business', perMinute: null, perDay: null },
    scopes: scopes.filter((scope) => scope !== ADMIN_SCOPE),
    expiresAt: new Date(app.get(Clock).now() + KEY_DAYS * DAY_MS),
    label: 'first start',
  });
  return issued?.key;
}

function addressLines({ app, url, database, config }: StartedService): string[] {
  const hasAgents = app.getHttpAdapter().getInstance().hasRoute({ method: 'POST', url: '/mcp' });
  const place = database.directory === undefined ? 'DATABASE_URL' : `embedded, data in ${database.directory}`;
  return [
    '',
    `Animal Store ${version} listens on ${url} (${config.deployment}).`,
    ...(config.docsEnabled ? [`  Front page   ${url}/`, `  Swagger UI   ${url}/docs`] : []),
    ...(hasAgents ? [`  Agents       ${url}/mcp`] : []),
    `  OpenAPI      ${url}/openapi.json  ${url}/openapi.yaml`,
    `  Health       ${url}/livez  ${url}/readyz`,
    `  PostgreSQL   ${place}`,
    ...database.notices.map((notice) => `  ${notice}`),
  ];
}

/** Explains how to use the API. Never log these lines: they contain a key. */
function demoKeyLines(url: string, key: string): string[] {
  const curl = `  curl -H 'Authorization: Bearer ${key}'`;
  return [
    'API key of the account demo (plan business), shown only once:',
    `  ${key}`,
    '',
    'Add an animal, list the animals, get one, and list the orders:',
    `${curl} -H 'Content-Type: application/json' -d '{"name":"Rex","categoryId":3}' '${url}/v1/pets'`,
    ...['pets', 'pets/1', 'store/orders'].map((path) => `${curl} '${url}/v1/${path}'`),
  ];
}
