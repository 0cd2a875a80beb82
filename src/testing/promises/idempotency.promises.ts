import { randomUUID } from 'node:crypto';
import { IDEMPOTENCY_KEY_HEADER } from '../../platform/api-docs/request-headers';
import { type Operation, parametersIn } from './api-document';
import { idsOf } from './page.promises';
import { codeOf, type Probe } from './probe';
import type { Resources } from './resources';

/** Checks that an operation with Idempotency-Key works once for each key. */
export async function checkIdempotency(probe: Probe, resources: Resources): Promise<void> {
  for (const operation of probe.api.operations) {
    const names = parametersIn(operation, 'header').map(({ name }) => name);
    if (names.includes(IDEMPOTENCY_KEY_HEADER.name)) await checkOperation(probe, resources, operation);
  }
}

async function checkOperation(probe: Probe, resources: Resources, operation: Operation): Promise<void> {
  const { title } = operation;
  const headers = { [IDEMPOTENCY_KEY_HEADER.name]: randomUUID() };
  const before = await countOf(probe, resources, operation);
  const first = await resources.create(operation, headers);
  if (!first) return;
  const path = resources.pathOf(operation);
  const again = await probe.send(operation, { path, body: first.body, headers });
  const isReplay = again.headers['idempotent-replayed'] === 'true';
  if (!isReplay || again.status !== first.response.status || again.text !== first.response.text) {
    probe.note(title, 'does not replay the response of an Idempotency-Key. Work through IdempotentWork');
    return;
  }
  const after = await countOf(probe, resources, operation);
  if (after !== undefined && after - (before ?? 0) > 1) {
    probe.note(
      title,
      'creates more than one resource for one Idempotency-Key. Use the transaction of IdempotentWork',
    );
  }
  const other = await probe.send(operation, { path, body: resources.newBody(operation), headers });
  if (codeOf(other) !== 'idempotency_key_reused') {
    const problem = `responds ${other.status} to an Idempotency-Key with another body, and must respond 422`;
    probe.note(title, problem);
  }
}

/** Counts the resources by the list with the same path; undefined without such a list. */
async function countOf(
  probe: Probe,
  resources: Resources,
  operation: Operation,
): Promise<number | undefined> {
  const list = probe.api.listOf(operation.path);
  if (!list) return undefined;
  return idsOf(await probe.send(list, { path: `${resources.pathOf(list)}?limit=100` }))?.length;
}
