import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { DestinationStream } from 'pino';
import { ApiKeysService } from '../auth';
import type { Config } from '../config/config';
import { ADMIN_SCOPE } from '../api/extension/extension';
import type { BuiltService } from './build';
import { type Store, version } from './store';

type ListeningService = BuiltService & { readonly url: string };

/** Prints the banner, with the demo key of a first start, which cannot be shown again. */
export async function printBanner(service: ListeningService, output: DestinationStream): Promise<void> {
  const key = await createDemoKey(service.app, service.config, service.store);
  const keyLines = key === undefined ? NEW_KEY_LINES : demoKeyLines(service.url, key);
  output.write([...addressLines(service), '', ...keyLines, '\n'].join('\n'));
}

/**
 * Creates the account `demo` and a key with every scope, on the first start of a development deployment.
 *
 * @returns the secret; undefined on later starts and in other deployments
 */
export async function createDemoKey(app: NestFastifyApplication, { deployment }: Config, { scopes }: Store) {
  if (deployment !== 'development') return undefined;
  const issued = await app.get(ApiKeysService, { strict: false }).createFirst({
    account: 'demo',
    choice: { plan: 'business', perMinute: null, perDay: null },
    scopes: scopes.filter((scope) => scope !== ADMIN_SCOPE),
    label: 'first start',
  });
  return issued?.key;
}

function addressLines({ app, url, database, config }: ListeningService): string[] {
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
  ];
}

const NEW_KEY_LINES = [
  'Create an API key (an installed package without this script: npx animal-store keys create …):',
  '  npm run -s cli -- keys create --account NAME',
];

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
