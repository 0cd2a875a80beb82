import { randomUUID } from 'node:crypto';
import { IDEMPOTENCY_KEY_HEADER } from '../../platform/api-docs/request-headers';
import { type Api, codeOf } from '../api';
import { type Operation, takesHeader } from '../api-document';
import { jsonOf } from '../json';
import type { Resource, Resources } from '../resources';
import { itemsOf } from './page.promises';
import type { ApiPromise } from './promise';

const HEADER = IDEMPOTENCY_KEY_HEADER.name ?? '';
/** Makes the commit of a transaction that stores a response fail. */
const FAIL_AT_COMMIT = `
  CREATE FUNCTION fail_at_commit() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE 'rolled back by a test'; END $$;
  CREATE CONSTRAINT TRIGGER fail_at_commit AFTER INSERT ON idempotency_keys
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail_at_commit()`;
const COMMIT_AGAIN = 'DROP TRIGGER fail_at_commit ON idempotency_keys; DROP FUNCTION fail_at_commit()';

/** An operation with Idempotency-Key works once for each key. */
export const idempotencyPromises: readonly ApiPromise[] = [
  {
    title: 'a repeated Idempotency-Key gets the first response again, and another body 422',
    async check(api, resources) {
      for (const operation of resources.creating) {
        if (takesHeader(operation, HEADER)) await checkReplay(api, resources, operation);
      }
    },
  },
  {
    title: 'a creation whose transaction is rolled back creates nothing',
    needs: 'test store',
    async check(api, resources) {
      for (const operation of resources.creating) {
        if (takesHeader(operation, HEADER)) await checkRollback(api, resources, operation);
      }
    },
  },
];

async function checkReplay(api: Api, resources: Resources, operation: Operation): Promise<void> {
  const { title } = operation;
  const headers = { [HEADER]: randomUUID() };
  const before = await countOf(api, resources, operation);
  const first = await resources.create(operation, headers);
  if (!first) return;
  if (!(await isReplayed(api, resources, operation, first, headers))) {
    api.note(title, 'does not replay the response of an Idempotency-Key. Work through IdempotentWork');
    return;
  }
  const after = await countOf(api, resources, operation);
  // Others may create resources of a deployment meanwhile.
  if (api.isThorough && after !== undefined && after - (before ?? 0) > 1) {
    api.note(
      title,
      'creates more than one resource for one Idempotency-Key. Use the transaction of IdempotentWork',
    );
  }
  const path = resources.pathOf(operation);
  const body = await resources.newBodyWithOthers(operation);
  if (jsonOf(body) === jsonOf(first.body)) return;
  const other = await api.send(operation, { path, body, headers });
  if (codeOf(other) !== 'idempotency_key_reused') {
    const problem = `responds ${other.status} to an Idempotency-Key with another body, and must respond 422`;
    api.note(title, problem);
  }
}

async function isReplayed(
  api: Api,
  resources: Resources,
  operation: Operation,
  { body, response }: Resource,
  headers: Readonly<Record<string, string>>,
): Promise<boolean> {
  const again = await api.send(operation, { path: resources.pathOf(operation), body, headers });
  const isSame = again.status === response.status && again.text === response.text;
  return isSame && again.headers['idempotent-replayed'] === 'true';
}

/** The response is an error that no document has, so nothing compares it. */
async function checkRollback(api: Api, resources: Resources, operation: Operation): Promise<void> {
  const before = await countOf(api, resources, operation);
  const body = await resources.newBodyWithOthers(operation);
  if (before === undefined) return;
  const request = { method: 'POST', key: api.key, body, headers: { [HEADER]: randomUUID() } };
  await api.target.query?.(FAIL_AT_COMMIT);
  await api.target.send(resources.pathOf(operation), request);
  await api.target.query?.(COMMIT_AGAIN);
  if ((await countOf(api, resources, operation)) === before) return;
  const cause = 'Give each statement the transaction of IdempotentWork';
  api.note(operation.title, `keeps what it created although its transaction was rolled back. ${cause}`);
}

/** Counts the resources by the list with the same path; undefined without such a list. */
async function countOf(api: Api, resources: Resources, operation: Operation): Promise<number | undefined> {
  const list = api.document.listOf(operation.path);
  if (!list || !api.may(list)) return undefined;
  return itemsOf(await api.send(list, { path: `${resources.pathOf(list)}?limit=100` }))?.length;
}
