import type { TestStore } from '../test-store';
import { checkAccess, checkLimits } from './access.promises';
import { ApiDocument, parseDocument } from './api-document';
import { checkDocument } from './document.promises';
import { checkEntityTags } from './entity-tag.promises';
import { checkExactValues } from './exact-value.promises';
import { checkIdempotency } from './idempotency.promises';
import { checkMigrations } from './migration.promises';
import { checkPages } from './page.promises';
import { Probe } from './probe';
import { Resources } from './resources';
import { checkValues } from './value.promises';

/**
 * Holds every operation of a store's OpenAPI document against the promises of the store, and the migrations of its
 * extensions against a way back. It creates resources from the documented examples, so give each test a new store.
 *
 * @returns a sentence for each broken promise, in the order of the checks
 */
export async function brokenPromises(store: TestStore): Promise<string[]> {
  const { text } = await store.fetch('/openapi.json');
  const probe = new Probe(store, new ApiDocument(parseDocument(text)), await store.key());
  const resources = new Resources(probe);
  checkDocument(probe);
  await resources.createAll();
  await checkAccess(probe, resources);
  await checkPages(probe, resources);
  await checkIdempotency(probe, resources);
  await checkEntityTags(probe, resources);
  await checkExactValues(probe, resources);
  await checkValues(probe, resources);
  await checkLimits(probe, resources);
  await checkMigrations(probe);
  return probe.broken;
}
