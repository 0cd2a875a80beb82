import { isInt64 } from '../../platform/http/int64';
import { memberOf } from './json-value';
import type { ReceivedResponse } from './received-response';

const MIN_REDIRECT_STATUS = 300;

export interface CreatedAnimal {
  readonly id: bigint;
  readonly name: string;
}

/** The animals and orders that a verification added to the deployment, to remove or to report them. */
export class Changes {
  /** All animals that the deployment reported as added, even by a response of another status than 201. */
  readonly created: CreatedAnimal[] = [];
  /** The ids of the placed orders. */
  readonly orders: bigint[] = [];
  private readonly removed = new Set<bigint>();

  /** The animals that were not removed again. */
  get left(): readonly CreatedAnimal[] {
    return this.created.filter(({ id }) => !this.removed.has(id));
  }

  /** Records what a response reports. @param body undefined if it could not be read */
  record(
    { method, path }: { readonly method: string; readonly path: string },
    { status, headers }: Pick<ReceivedResponse, 'status' | 'headers'>,
    body: unknown,
  ): void {
    if (status >= MIN_REDIRECT_STATUS) return;
    if (method === 'DELETE') {
      const id = idAtEnd(path);
      if (id !== undefined) this.removed.add(id);
    }
    if (method !== 'POST') return;
    // If the body has no id, `Location` has it: every added animal must be reported.
    const inBody = memberOf(body, 'id');
    const id = isInt64(inBody) ? inBody : idAtEnd(headers.get('location') ?? '');
    if (id === undefined) return;
    const name = memberOf(body, 'name');
    if (path === '/pets') this.created.push({ id, name: typeof name === 'string' ? name : '' });
    else this.orders.push(id);
  }
}

function idAtEnd(path: string): bigint | undefined {
  const [, id] = /\/(-?\d{1,19})$/.exec(path) ?? [];
  return id === undefined ? undefined : BigInt(id);
}
