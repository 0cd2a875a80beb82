/** The environment variable with the server's URL, from the global set-up to the workers. */
export const ADMIN_URL_VARIABLE = 'ANIMAL_STORE_TEST_ADMIN_URL';

/** The variable with the role of the service, if it is not the administrator's. */
export const SERVICE_ROLE_VARIABLE = 'ANIMAL_STORE_TEST_SERVICE_ROLE';

/** The variable with the URL of the PgBouncer, if the run has one. */
export const POOLER_URL_VARIABLE = 'ANIMAL_STORE_TEST_POOLER_URL';

export const TEMPLATE_DATABASE = 'animal_store_template';

/** Returns the URL with the service's role. */
export function serviceUrl(adminUrl: string): string {
  const parsed = new URL(adminUrl);
  parsed.username = process.env[SERVICE_ROLE_VARIABLE] ?? parsed.username;
  return parsed.href;
}

export function urlOfDatabase(url: string, name: string): string {
  const parsed = new URL(url);
  parsed.pathname = `/${name}`;
  return parsed.href;
}
