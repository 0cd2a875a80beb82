import type { Api } from '../api';
import { Resources } from '../resources';
import { accessPromises, accountPromises } from './access.promises';
import { entityTagPromises } from './entity-tag.promises';
import { idempotencyPromises, rollbackPromises } from './idempotency.promises';
import { OperationUnderTest, type Promises } from './operation-under-test';
import { pagePromises } from './page.promises';
import { valuePromises } from './value.promises';

/** In this order: later ones send more requests, and change or remove more. */
const PROMISES: Promises = {
  ...accessPromises,
  ...pagePromises,
  ...idempotencyPromises,
  ...entityTagPromises,
  ...valuePromises,
  // Tags, ids, descriptions, responses and examples, without a request.
  'the document describes each operation'(tested) {
    const { document, operation } = tested;
    const { body, responses, operationId, summary, description, tags = [] } = operation;
    if (tags.length === 0) tested.note('has no tag. Declare one in tags of its extension');
    const declared = new Set(document.object.tags.map(({ name }) => name));
    for (const tag of tags.filter((each) => !declared.has(each))) {
      tested.note(`has the tag ${tag}, which no extension declares. Add it to tags of the extension`);
    }
    for (const [name, text] of Object.entries({ operationId, summary, description })) {
      if (!text?.trim()) tested.note(`has no ${name}. Declare it with @Operation`);
    }
    // Responses without a body (RFC 9110, 15.3).
    const withBody = ['204', '205'].find((status) => responses[status]?.content !== undefined);
    if (withBody !== undefined) tested.note(`documents a body of ${withBody}, which has none`);
    // A client copies the example of a body.
    for (const { where, rule } of body ? document.errors(body, document.exampleOf(body)) : []) {
      tested.note(`has an example of its body that differs from its schema: body ${where} ${rule}`);
    }
  },
  ...rollbackPromises,
  ...accountPromises,
};

/** Checks every promise. Its breaches are in `api.faults`. */
export async function checkPromises(api: Api): Promise<void> {
  const resources = new Resources(api);
  const operations = api.operations.map((each) => new OperationUnderTest(api, resources, each));
  await resources.createAll();
  for (const check of Object.values(PROMISES)) {
    for (const each of operations) await check(each);
  }
}
