import type { ServerObject } from '@nestjs/swagger';
import type { Config } from '../../platform/config/config';

const DESCRIPTIONS: Readonly<Record<Config['deployment'], string>> = {
  production: 'Production',
  staging: 'Staging',
  development: 'This deployment, for development and local tests',
};

/** Lists the base URLs of the settings. `x-internal` is true if a server is not for the public. */
export function serversOf({ deployment, publicBaseUrl, stagingBaseUrl }: Config): ServerObject[] {
  const servers = [server(publicBaseUrl, deployment)];
  const isKnown = stagingBaseUrl === undefined || stagingBaseUrl === publicBaseUrl;
  return isKnown ? servers : [...servers, server(stagingBaseUrl, 'staging')];
}

function server(url: string, deployment: Config['deployment']): ServerObject & { 'x-internal': boolean } {
  return { url, description: DESCRIPTIONS[deployment], 'x-internal': deployment === 'development' };
}
