import { Agent } from 'node:http';
import { send } from '../../support/http';
import { linksOf } from '../../support/links';
import type { RunningService } from '../../support/service';
import { type AnimalState, changedName, type Outcome } from './ledger';

/** So many that creations wait for each other, and are joined. */
export const WRITERS = 32;
/** One of so many animals is changed, another one removed. */
const WRITES_PER_CHANGE = 4;

type Message = [method: string, path: string, body?: object];

/**
 * Adds animals with several clients, each after its last response, until `stopped`. Some animals are then changed or
 * removed.
 *
 * @param prefix is the beginning of each name
 * @param record is called after each response, or after a lost connection with the outcome `unknown`
 * @returns the number of acknowledged creations
 */
export async function writeAnimals(
  { url }: Pick<RunningService, 'url'>,
  key: string,
  prefix: string,
  record: (name: string, became: AnimalState, outcome: Outcome) => void,
  stopped: AbortSignal,
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: WRITERS });
  let added = 0;
  const write = async (name: string, became: AnimalState, success: number, ...message: Message) => {
    const [method, path, body] = message;
    const response = await send(url, method, path, { key, agent, body }).catch(() => undefined);
    if (response && response.status !== success) throw new Error(`not written: ${response.text}`);
    record(name, became, response ? 'done' : 'unknown');
    return response;
  };
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    for (let count = 0; !stopped.aborted; count += 1) {
      const name = `${prefix} writer ${writer} animal ${count}`;
      const created = await write(name, 'added', 201, 'POST', '/v1/pets', { name, categoryId: 1 });
      if (!created) continue;
      added += 1;
      const path = `/v1/pets/${created.json.id}`;
      if (count % WRITES_PER_CHANGE === 1)
        await write(name, 'changed', 200, 'PATCH', path, { name: changedName(name) });
      if (count % WRITES_PER_CHANGE === 2) await write(name, 'absent', 204, 'DELETE', path);
    }
  });
  await Promise.all(writers);
  agent.destroy();
  return added;
}

export async function allNames(service: RunningService, key: string): Promise<string[]> {
  const names: string[] = [];
  for (let next: string | undefined = '/v1/pets?limit=100'; next !== undefined;) {
    const response = await send(service.url, 'GET', next, { key });
    if (response.status !== 200) throw new Error(response.text);
    for (const { name } of response.json) names.push(name);
    next = linksOf(response)['next'];
  }
  return names;
}
