// The tests run against the built service of this repository, by the support of its interop tests.
import { startService } from '../../../../test/interop/support/service.mjs';

/** The most animals of one request. */
const BATCH = 100;

/** A Free key has 60 requests a minute. */
export const FREE = ['--plan', 'free'];

/** Starts the built service. @returns its address, and what creates keys and animals */
export async function startStore(settings) {
  const { environment, stop } = await startService(settings);
  Object.assign(process.env, environment);
  // These read the environment when they are loaded, once for each address of a service.
  const { baseUrl, createKey, STAFF, url } = await import(
    `../../../../test/interop/support/service.mjs?of=${environment.INTEROP_URL}`
  );
  const addPets = async (key, count) => {
    for (let left = count; left > 0; left -= BATCH) {
      const pet = () => ({ name: 'Rex', categoryId: 3 });
      const items = Array.from({ length: Math.min(BATCH, left) }, pet);
      const response = await fetch(`${baseUrl}/pets/batch`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ items }),
      });
      if (response.status !== 201) throw new Error(`no animal was added: ${await response.text()}`);
    }
  };
  return { addPets, baseUrl, createKey, STAFF, url, stop };
}
