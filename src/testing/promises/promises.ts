import type { Api } from '../api';
import { Resources } from '../resources';
import { accessPromises } from './access.promises';
import { documentPromise } from './document.promises';
import { entityTagPromises } from './entity-tag.promises';
import { exactPromises } from './exact-value.promises';
import { idempotencyPromises } from './idempotency.promises';
import { type ApiPromise, OperationUnderTest } from './operation-under-test';
import { pagePromises } from './page.promises';
import { valuePromises } from './value.promises';

/** All promises in their order: later ones send more requests, and change or remove more. */
const PROMISES: readonly ApiPromise[] = [
  documentPromise,
  ...accessPromises,
  ...pagePromises,
  ...idempotencyPromises,
  ...entityTagPromises,
  ...exactPromises,
  ...valuePromises,
];

/** Checks every promise that the target allows. @param report receives each with the sentences that broke it */
export async function checkPromises(
  api: Api,
  resources: Resources,
  report: (title: string, faults: readonly string[]) => void = () => undefined,
): Promise<void> {
  let known = 0;
  const take = (title: string): void => {
    report(title, api.faults.slice(known));
    known = api.faults.length;
  };
  const operations = api.operations.map((each) => new OperationUnderTest(api, resources, each));
  await resources.createAll();
  take('each operation that creates accepts its documented example');
  for (const promise of PROMISES) {
    if (promise.needs !== undefined && !api.isThorough) continue;
    for (const each of operations) if (promise.appliesTo?.(each) ?? true) await promise.check(each);
    take(promise.title);
  }
}
