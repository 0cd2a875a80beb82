// The tests run against the built service of this repository, by the support of its interop tests.
import { startService } from '../../../../test/interop/support/service.mjs';

export { FREE } from '../../../../test/interop/support/service.mjs';
export { findChromium } from '../../../../test/interop/support/find-program.mjs';

/** Starts the built service. @returns its address, and what creates keys and animals */
export async function startStore(settings) {
  const { environment, stop } = await startService(settings);
  Object.assign(process.env, environment);
  // These read the environment when they are loaded, once for each address of a service.
  const { addPets, baseUrl, createKey, STAFF, url } = await import(
    `../../../../test/interop/support/service.mjs?of=${environment.INTEROP_URL}`
  );
  return { addPets, baseUrl, createKey, STAFF, url, stop };
}
