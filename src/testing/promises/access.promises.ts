import { UNCOUNTED } from '../../platform/api-docs/uncounted.decorator';
import { bodyOf, codeOf, type Probe, type ProbeRequest } from './probe';
import type { Operation } from './api-document';
import type { Resources } from './resources';
import { checkScope, ScopedKeys } from './scope.promises';

/** No operation has this method. */
const FOREIGN_METHOD = 'PROPFIND';

/** Checks keys, scopes and methods of each operation. */
export async function checkAccess(probe: Probe, resources: Resources): Promise<void> {
  const keys = new ScopedKeys(probe);
  for (const operation of probe.api.operations) {
    const path = resources.pathOf(operation);
    await checkKeys(probe, operation, path);
    await checkScope(probe, operation, resources, keys);
    await checkMethods(probe, operation, path);
  }
}

async function checkKeys(probe: Probe, operation: Operation, path: string): Promise<void> {
  for (const [what, key, code] of [
    ['a request without a key', undefined, 'missing_api_key'],
    ['a wrong key', 'wrong', 'invalid_api_key'],
  ] as const) {
    const response = await probe.send(operation, { path, key, body: bodyOf(operation), what });
    if (response.status !== 401 || codeOf(response) !== code) {
      probe.note(operation.title, `responds ${response.status} to ${what}, and must respond 401 ${code}`);
    }
  }
}

async function checkMethods(probe: Probe, operation: Operation, path: string): Promise<void> {
  const { title, method } = operation;
  const foreign = await probe.store.fetch(`/v1${path}`, {
    method: FOREIGN_METHOD,
    key: await probe.store.key(),
  });
  const allowed = String(foreign.headers.allow).split(', ');
  if (foreign.status !== 405 || !allowed.includes(method)) {
    probe.note(title, `responds ${foreign.status} to the method ${FOREIGN_METHOD}, and must respond 405`);
  }
  if (method !== 'GET') return;
  const [get, head] = [
    await probe.send(operation, { path }),
    await probe.send(operation, { path, method: 'HEAD' }),
  ];
  if (get.status !== head.status) probe.note(title, `responds ${get.status}, and ${head.status} to HEAD`);
}

/** Checks the limit of the plan. It comes last, because it removes resources by DELETE. */
export async function checkLimits(probe: Probe, resources: Resources): Promise<void> {
  for (const operation of probe.api.operations) {
    const key = await probe.store.key({ perMinute: 1 });
    const request = { path: resources.pathOf(operation), key, body: bodyOf(operation) };
    if (operation.object[UNCOUNTED]) {
      await checkUncounted(probe, operation, request);
      continue;
    }
    await probe.send(operation, request);
    const { status } = await probe.send(operation, request);
    if (status !== 429) {
      const problem = `responds ${status} after the last request of the minute, and must respond 429`;
      probe.note(operation.title, problem);
    }
  }
}

/** Also sends more requests than the minute has. */
async function checkUncounted(probe: Probe, operation: Operation, request: ProbeRequest): Promise<void> {
  const { key } = request;
  const statuses = [(await probe.send(operation, request)).status];
  const { status } = await probe.store.fetch('/v1/nothing', { key });
  statuses.push((await probe.send(operation, request)).status);
  if (status === 429 || statuses.includes(429)) {
    probe.note(operation.title, `counts in a window, and its document has ${UNCOUNTED}`);
  }
}
