import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { IDEMPOTENCY_KEY_HEADER } from '../../platform/idempotency/idempotent.decorator';
import { takesHeader } from '../api-document';
import { jsonIn, jsonOf } from '../json';
import { collectionOf } from '../resources';
import { BROKEN_COMMIT } from '../test-store';
import type { OperationUnderTest, Promises } from './operation-under-test';
import { newestOf } from './page.promises';

const HEADER = IDEMPOTENCY_KEY_HEADER.name;
/** Makes the commit of a transaction that stores a response fail. */
const FAIL_AT_COMMIT = `
  CREATE FUNCTION fail_at_commit() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE '${BROKEN_COMMIT}'; END $$;
  CREATE CONSTRAINT TRIGGER fail_at_commit AFTER INSERT ON idempotency_keys
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail_at_commit()`;
const COMMIT_AGAIN = 'DROP FUNCTION fail_at_commit CASCADE';

/** An operation with Idempotency-Key works once for each key. */
export const idempotencyPromises: Promises = {
  async 'a repeated Idempotency-Key gets the first response again, and another body 422'(tested) {
    const { operation, resources } = tested;
    if (!isIdempotent(tested)) return;
    const headers = { [HEADER]: randomUUID() };
    const before = await countOf(tested);
    const first = await resources.create(operation, headers);
    if (!first) return;
    const { status, text } = first.response;
    const again = await tested.send({ body: first.body, headers });
    const isReplayed = again.headers['idempotent-replayed'] === 'true' && again.status === status;
    // The response has a secret, which is not stored.
    const isKept = again.json.code === 'secret_already_shown';
    if (!isKept && !(isReplayed && again.text === text)) {
      const cause = 'Declare idempotent: true and @Idempotent()';
      tested.note(`does not replay the response of an Idempotency-Key. ${cause}`);
      return;
    }
    if ((await countOf(tested)) - before > [jsonIn(text)].flat().length) {
      const cause = 'Use the transaction of @Idempotent()';
      tested.note(`creates more than once for one Idempotency-Key. ${cause}`);
    }
    const body = await resources.newBodyWithOthers(operation);
    if (jsonOf(body) === jsonOf(first.body)) return;
    const other = await tested.send({ body, headers });
    tested.requires(other, 'to an Idempotency-Key with another body', '422 idempotency_key_reused');
  },
};

export const rollbackPromises: Promises = {
  // The response is an error that no document has, so nothing compares it.
  async 'a creation whose transaction is rolled back creates nothing'(tested) {
    const { api, operation, path, resources } = tested;
    if (!isIdempotent(tested)) return;
    const database = api.store.app.get(DataSource, { strict: false });
    const body = await resources.newBodyWithOthers(operation);
    const before = await countOf(tested);
    await database.query(FAIL_AT_COMMIT);
    await api.request(path, { method: 'POST', key: api.key, body, headers: { [HEADER]: randomUUID() } });
    await database.query(COMMIT_AGAIN);
    if ((await countOf(tested)) === before) return;
    const cause = 'Give each statement the transaction of @Idempotent()';
    tested.note(`keeps what it created although its transaction was rolled back. ${cause}`);
  },
};

function isIdempotent({ operation, isCreating }: OperationUnderTest): boolean {
  return isCreating && takesHeader(operation, HEADER);
}

/** Counts the resources by their list. */
async function countOf(tested: OperationUnderTest): Promise<number> {
  const list = tested.listAt(collectionOf(tested.operation));
  return list ? (await newestOf(list)).length : 0;
}
