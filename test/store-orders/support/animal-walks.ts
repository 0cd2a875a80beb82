import * as fc from 'fast-check';
import type { PetStatus } from '../../../src/pets/pet-status';
import type { OrderStatus } from '../../../src/store-orders/order-status';
import { type RequestOptions, send } from '../../support/http';
import { type AnimalRequest, type AnimalState, type Asker, explain, versionOf } from './animal-model';
import { isLinearizable, type Observed } from './linearizable';

const PETS = '/v1/pets';
const ORDERS = '/v1/store/orders';
/** At the beginning of a walk. */
const ANIMALS = 4;
/** So many concurrent clients use one key. */
const CLIENTS_PER_KEY = 2;
/** Of each account, for each animal: so few that clients also repeat one. */
const IDEMPOTENCY_KEYS = 3;
/** A step chooses from so many latest orders: earlier ones are mostly final. */
const LATEST_ORDERS = 6;
const MAX_ANIMALS = 20;

/** One random request of a client. */
interface Step {
  readonly kind: AnimalRequest['kind'] | 'createPet';
  /** A number that chooses an animal of the walk. */
  readonly animal: number;
  /** The number of the order, counted from the latest. */
  readonly order: number;
  /** `known`: the last entity tag that any client has seen. */
  readonly ifMatch: 'none' | 'known' | '*' | '"another"';
  /** The new status of the animal; undefined keeps it. */
  readonly status: PetStatus | undefined;
  /** The new status of the order. */
  readonly target: OrderStatus;
  readonly idempotencyKey: number | undefined;
}

const COMMON = {
  animal: fc.nat(MAX_ANIMALS - 1),
  order: fc.nat(LATEST_ORDERS - 1),
  ifMatch: fc.constantFrom(...weighted({ none: 3, known: 5, '*': 1, '"another"': 1 })),
  status: fc.constantFrom(undefined, ...weighted({ available: 2, pending: 1, sold: 1 }), undefined),
  idempotencyKey: fc.option(fc.nat(IDEMPOTENCY_KEYS - 1), { nil: undefined }),
} as const;

/** A buyer now and then tries what only the staff may do. */
const STEP_OF_BUYER: fc.Arbitrary<Step> = fc.record({
  ...COMMON,
  kind: fc.constantFrom(
    ...weighted({ placeOrder: 5, updateOrder: 2, createPet: 1, getPet: 1, getOrder: 1, updatePet: 1 }),
  ),
  target: fc.constantFrom(...weighted({ cancelled: 4, approved: 1 })),
});

const STEP_OF_STAFF: fc.Arbitrary<Step> = fc.record({
  ...COMMON,
  kind: fc.constantFrom(...weighted({ updatePet: 4, deletePet: 1, updateOrder: 3, getPet: 1, getOrder: 1 })),
  target: fc.constantFrom(...weighted({ approved: 2, delivered: 2, cancelled: 1 })),
});

function weighted<Value extends string>(weights: Readonly<Record<Value, number>>): Value[] {
  // Object.entries names the keys as text.
  return Object.entries<number>(weights).flatMap(([value, weight]) =>
    Array<Value>(weight).fill(value as Value),
  );
}

/** A key of the service, with limits that no walk reaches. */
export interface WalkKey extends Asker {
  readonly key: string;
}

/** The keys of a running service: buyers with an account each, and staff. */
export interface AnimalSubject {
  readonly url: string;
  readonly buyers: readonly WalkKey[];
  readonly staff: readonly WalkKey[];
}

/** Operation and status → number of responses. */
export type ResponseCounts = Record<string, number>;

/**
 * Runs concurrent clients with random requests about few animals, `numRuns` times, by default with another seed each time. After each run:
 * - some order of the requests about an animal explains every response, and the last state of animal and orders;
 * - of the changes with one entity tag at most one has succeeded.
 */
export async function walkWithAnimals(
  subject: AnimalSubject,
  {
    maxSteps,
    ...parameters
  }: { readonly numRuns: number; readonly maxSteps: number; readonly seed?: number },
): Promise<ResponseCounts> {
  const { buyers, staff } = subject;
  const counts: ResponseCounts = {};
  const stepsOf = (step: fc.Arbitrary<Step>, keys: readonly WalkKey[]) => {
    const length = keys.length * CLIENTS_PER_KEY;
    const steps = fc.array(step, { minLength: maxSteps / 2, maxLength: maxSteps });
    return fc.array(steps, { minLength: length, maxLength: length });
  };
  await fc.assert(
    fc.asyncProperty(
      stepsOf(STEP_OF_BUYER, buyers),
      stepsOf(STEP_OF_STAFF, staff),
      async (ofBuyers, ofStaff) => {
        const walk = new Walk(subject, counts);
        await Promise.all(Array.from({ length: ANIMALS }, () => walk.create(buyers[0]!)));
        const clientsOf = (keys: readonly WalkKey[], clients: readonly (readonly Step[])[]) =>
          clients.map(async (steps, client) => {
            for (const step of steps) await walk.take(keys[client % keys.length]!, step);
          });
        await Promise.all([...clientsOf(buyers, ofBuyers), ...clientsOf(staff, ofStaff)]);
        await walk.readAll(staff[0]!);
        walk.check();
      },
    ),
    // No shrinking: the same steps do not repeat a race, so a shorter walk proves nothing.
    { ...parameters, endOnFailure: true },
  );
  return counts;
}

/** One walk: its animals and orders, and what its clients have seen of them. */
class Walk {
  private readonly animals: { readonly created: AnimalState; readonly history: Observed<AnimalState>[] }[] =
    [];
  private readonly orders: { readonly orderId: number; readonly petId: number }[] = [];
  /** The last entity tag of a resource, and the version that it names; the staff sees other ones than a buyer. */
  private readonly seen = new Map<string, { readonly tag: string; readonly version: string }>();
  /** The successful changes, by path and the entity tag that they required. */
  private readonly changes: string[] = [];
  private moment = 0;

  constructor(
    private readonly subject: AnimalSubject,
    private readonly counts: ResponseCounts,
  ) {}

  async create({ key }: WalkKey): Promise<void> {
    const body = { name: this.newName(), categoryId: 1 };
    const { json } = await this.send('createPet', 'POST', PETS, { key, body });
    const { id: petId, ...pet } = json;
    this.animals.push({ created: { petId, pet, orders: {}, keyed: {} }, history: [] });
  }

  async take(asker: WalkKey, { kind, animal, order, ifMatch, ...step }: Step): Promise<void> {
    if (kind === 'createPet') return this.create(asker);
    const conditionOn = (path: string): Pick<AnimalRequest, 'condition'> => {
      const known = this.seen.get(viewOf(asker, path));
      if (ifMatch === 'known') return { condition: known };
      return { condition: ifMatch === 'none' ? undefined : { tag: ifMatch, version: undefined } };
    };
    const { petId } = this.animals[animal % this.animals.length]!.created;
    const { status, target, idempotencyKey: number } = step;
    if (kind === 'placeOrder') {
      const idempotencyKey = number === undefined ? undefined : `animal-${petId}-${number}`;
      return this.ask(asker, petId, { kind, asker, idempotencyKey });
    }
    if (kind === 'getOrder' || kind === 'updateOrder') {
      const chosen = this.orders.at(-1 - (order % Math.max(1, this.orders.length)));
      if (!chosen) return undefined;
      const { orderId } = chosen;
      const change = { status: target, ...conditionOn(`${ORDERS}/${orderId}`) };
      return this.ask(
        asker,
        chosen.petId,
        kind === 'getOrder' ? { kind, asker, orderId } : { kind, asker, orderId, ...change },
      );
    }
    if (kind === 'getPet') return this.ask(asker, petId, { kind, asker });
    const change = { name: this.newName(), ...(status && { status }) };
    return this.ask(asker, petId, { kind, asker, change, ...conditionOn(`${PETS}/${petId}`) });
  }

  /** Reads every animal and order after all requests of the clients. */
  async readAll(asker: WalkKey): Promise<void> {
    for (const { created } of this.animals) await this.ask(asker, created.petId, { kind: 'getPet', asker });
    for (const { orderId, petId } of this.orders)
      await this.ask(asker, petId, { kind: 'getOrder', asker, orderId });
  }

  check(): void {
    for (const { created, history } of this.animals) {
      if (isLinearizable(history, created)) continue;
      const lines = history.toSorted((one, other) => one.begin - other.begin).map(({ text }) => text);
      throw new Error(`no order of these requests explains their responses:\n${lines.join('\n')}`);
    }
    const repeated = this.changes.filter((change, at) => this.changes.indexOf(change) !== at);
    if (repeated.length > 0) throw new Error(`changed twice with the same ETag: ${repeated.join()}`);
  }

  /** Sends a request, and adds it with its response to the history of its animal. */
  private async ask(asker: WalkKey, petId: number, request: AnimalRequest): Promise<void> {
    const path = 'orderId' in request ? `${ORDERS}/${request.orderId}` : `${PETS}/${petId}`;
    const begin = (this.moment += 1);
    const response = await this.send(request.kind, ...messageOf(asker, petId, path, request));
    const end = (this.moment += 1);
    const { status, headers, text } = response;
    const body = text === '' ? undefined : response.json;
    const outcome = status < 400 ? { status, body } : { status, code: body.code };
    this.animals
      .find(({ created }) => created.petId === petId)!
      .history.push({
        begin,
        end,
        text: `${begin} to ${end}: ${JSON.stringify(request)}: ${status} ${text}`,
        apply: (state) => explain(state, request, outcome),
      });
    if (status === 201 && headers['idempotent-replayed'] === undefined)
      this.orders.push({ orderId: body.id, petId });
    const { condition } = request;
    // A response with the same tag changed nothing.
    const isChange = request.kind.startsWith('update') || request.kind === 'deletePet';
    if (isChange && status < 300 && condition?.version !== undefined && headers.etag !== condition.tag)
      this.changes.push(`${path} ${condition.tag}`);
    if (status === 200)
      this.seen.set(viewOf(asker, path), { tag: String(headers.etag), version: versionOf(body) });
  }

  private async send(kind: string, ...[method, path, options]: Message) {
    const response = await send(this.subject.url, method, path, options);
    const outcome = `${kind} ${response.status}`;
    this.counts[outcome] = (this.counts[outcome] ?? 0) + 1;
    return response;
  }

  /** Every change has a name of its own, so that no earlier entity tag becomes current again. */
  private newName(): string {
    return `animal ${(this.moment += 1)}`;
  }
}

type Message = readonly [method: string, path: string, options: RequestOptions];

function messageOf({ key }: WalkKey, petId: number, path: string, request: AnimalRequest): Message {
  const headers: Record<string, string> =
    request.condition === undefined ? {} : { 'if-match': request.condition.tag };
  if (request.kind === 'placeOrder') {
    const { idempotencyKey } = request;
    const keyed = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
    return ['POST', ORDERS, { key, body: { petId }, headers: keyed }];
  }
  if (request.kind === 'updatePet') return ['PATCH', path, { key, body: request.change, headers }];
  if (request.kind === 'updateOrder')
    return ['PATCH', path, { key, body: { status: request.status }, headers }];
  return request.kind === 'deletePet' ? ['DELETE', path, { key, headers }] : ['GET', path, { key }];
}

/** The staff sees the account of an order, so it gets another entity tag. */
function viewOf({ isStaff }: Asker, path: string): string {
  return `${isStaff} ${path}`;
}

/** The open orders of removed animals: there must be none. */
export const HELD_WITHOUT_ANIMAL = `
  SELECT id FROM store_orders
  WHERE status IN ('placed', 'approved') AND NOT EXISTS (SELECT FROM pets WHERE pets.id = pet_id)`;
