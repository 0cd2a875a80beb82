import * as fc from 'fast-check';
import { send } from '../../support/http';
import {
  type AnimalRequest,
  type AnimalState,
  explain,
  isLinearizable,
  type Observed,
  summaryOf,
} from './animal-model';

const PETS = '/v1/pets';
const ORDERS = '/v1/store/orders';
/** At the beginning of a walk. */
const ANIMALS = 4;
const MAX_ANIMALS = 20;
/** So many concurrent clients use one key. */
const CLIENTS_PER_KEY = 2;
/** A step chooses from so many latest orders: earlier ones are mostly final. */
const LATEST_ORDERS = 6;

/** The methods of the requests. */
const METHODS = {
  getPet: 'GET',
  updatePet: 'PATCH',
  deletePet: 'DELETE',
  placeOrder: 'POST',
  getOrder: 'GET',
  updateOrder: 'PATCH',
} as const;

/** One random request of a client. */
const STEP = fc.record({
  kind: fc.constantFrom(
    ...weighted({ placeOrder: 6, updateOrder: 6, updatePet: 5, getPet: 1, deletePet: 2, createPet: 2 }),
  ),
  /** A number that chooses an animal of the walk. */
  animal: fc.nat(MAX_ANIMALS - 1),
  /** The number of the order, counted from the latest. */
  order: fc.nat(LATEST_ORDERS - 1),
  /** The new status of the order. */
  target: fc.constantFrom(...weighted({ approved: 2, delivered: 2, cancelled: 3 })),
  /** The new status of the animal; undefined keeps it. */
  status: fc.constantFrom(undefined, ...weighted({ available: 2, pending: 1, sold: 1 }), undefined),
  /** True: with the last entity tag that any client has seen. */
  isConditional: fc.boolean(),
});
type Step = typeof STEP extends fc.Arbitrary<infer Value> ? Value : never;

function weighted<Value extends string>(weights: Readonly<Record<Value, number>>): Value[] {
  // Object.entries names the keys as text.
  return Object.entries<number>(weights).flatMap(([value, weight]) =>
    Array<Value>(weight).fill(value as Value),
  );
}

/** The keys of a running service: buyers place orders and cancel them, staff does the rest. No walk reaches their limits. */
interface AnimalSubject {
  readonly url: string;
  readonly buyers: readonly { readonly key: string }[];
  readonly staff: readonly { readonly key: string }[];
}

/** Operation and status → number of responses. */
type ResponseCounts = Record<string, number>;

/**
 * Runs concurrent clients with random requests about few animals, `numRuns` times, by default with another seed each
 * time. After each run some order of the requests about an animal must explain every response, and the last state of
 * animal and orders. So of the changes with one entity tag at most one has succeeded.
 */
export async function walkWithAnimals(
  subject: AnimalSubject,
  {
    maxSteps,
    ...parameters
  }: { readonly numRuns: number; readonly maxSteps: number; readonly seed?: number },
): Promise<ResponseCounts> {
  const counts: ResponseCounts = {};
  const length = CLIENTS_PER_KEY * (subject.buyers.length + subject.staff.length);
  const steps = fc.array(STEP, { minLength: maxSteps / 2, maxLength: maxSteps });
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: length, maxLength: length }), async (ofClients) => {
      const walk = new Walk(subject, counts);
      await Promise.all(Array.from({ length: ANIMALS }, () => walk.create()));
      const run = async (own: readonly Step[], client: number) => {
        for (const step of own) await walk.take(client, step);
      };
      await Promise.all(ofClients.map(run));
      await walk.readAll();
      walk.check();
    }),
    // No shrinking: the same steps do not repeat a race, so a shorter walk proves nothing.
    { ...parameters, endOnFailure: true },
  );
  return counts;
}

/** An animal of a walk, and what its clients have seen of it. */
interface WalkAnimal {
  readonly petId: number;
  readonly created: AnimalState;
  readonly history: Observed[];
  seen?: AnimalRequest['seen'];
}

class Walk {
  private readonly animals: WalkAnimal[] = [];
  private readonly orders: { readonly orderId: number; readonly animal: WalkAnimal; readonly key: string }[] =
    [];
  private moment = 0;

  constructor(
    private readonly subject: AnimalSubject,
    private readonly counts: ResponseCounts,
  ) {}

  async create(): Promise<void> {
    const body = { name: this.newName(), categoryId: 1 };
    const { key } = this.subject.buyers[0]!;
    const { json } = await send(this.subject.url, 'POST', PETS, { key, body });
    this.animals.push({ petId: json.id, created: { pet: json, orders: {} }, history: [] });
  }

  async take(client: number, { kind, target, status, isConditional, ...step }: Step): Promise<void> {
    const [buyer, staff] = [this.subject.buyers, this.subject.staff].map(
      (keys) => keys[client % keys.length]!.key,
    ) as [string, string];
    if (kind === 'createPet') return this.create();
    if (kind === 'updateOrder') {
      const order = this.orders.at(-1 - (step.order % Math.max(1, this.orders.length)));
      if (!order) return undefined;
      const { orderId, animal, key } = order;
      return this.ask(target === 'cancelled' ? key : staff, animal, {
        kind,
        orderId,
        body: { status: target },
      });
    }
    const animal = this.animals[step.animal % this.animals.length]!;
    if (kind === 'placeOrder') return this.ask(buyer, animal, { kind, body: { petId: animal.petId } });
    if (kind === 'getPet') return this.ask(staff, animal, { kind });
    const seen = isConditional ? animal.seen : undefined;
    const body = kind === 'updatePet' ? { body: { name: this.newName(), ...(status && { status }) } } : {};
    return this.ask(staff, animal, { kind, seen, ...body });
  }

  /** Reads every animal and order after all requests of the clients. */
  async readAll(): Promise<void> {
    const { key } = this.subject.staff[0]!;
    for (const animal of this.animals) await this.ask(key, animal, { kind: 'getPet' });
    for (const { orderId, animal } of this.orders) await this.ask(key, animal, { kind: 'getOrder', orderId });
  }

  check(): void {
    for (const { created, history } of this.animals) {
      if (isLinearizable(history, created)) continue;
      const lines = history.toSorted((one, other) => one.begin - other.begin).map(({ text }) => text);
      throw new Error(`no order of these requests explains their responses:\n${lines.join('\n')}`);
    }
  }

  /** Sends a request, and adds it with its response to the history of its animal. */
  private async ask(key: string, animal: WalkAnimal, request: AnimalRequest): Promise<void> {
    const { kind, orderId, body, seen } = request;
    const orders = orderId === undefined ? ORDERS : `${ORDERS}/${orderId}`;
    const path = kind.endsWith('Order') ? orders : `${PETS}/${animal.petId}`;
    const headers: Record<string, string> = seen ? { 'if-match': seen.tag } : {};
    const begin = (this.moment += 1);
    const response = await send(this.subject.url, METHODS[kind], path, { key, body, headers });
    const end = (this.moment += 1);
    const { status, text } = response;
    this.counts[`${kind} ${status}`] = (this.counts[`${kind} ${status}`] ?? 0) + 1;
    const json = text === '' ? {} : response.json;
    const summary = text === '' ? '' : summaryOf(json);
    animal.history.push({
      begin,
      end,
      text: `${begin} to ${end}: ${JSON.stringify(request)}: ${status} ${text}`,
      apply: (state) => explain(state, request, `${status} ${summary}`, json.id),
    });
    if (status === 201) this.orders.push({ orderId: json.id, animal, key });
    if (status === 200 && kind.endsWith('Pet'))
      animal.seen = { tag: String(response.headers['etag']), summary };
  }

  /** Every change has a name of its own, so that no earlier entity tag becomes current again. */
  private newName(): string {
    return `animal ${(this.moment += 1)}`;
  }
}

/** The open orders of removed animals: there must be none. */
export const HELD_WITHOUT_ANIMAL = `
  SELECT id FROM store_orders
  WHERE status IN ('placed', 'approved') AND NOT EXISTS (SELECT FROM pets WHERE pets.id = pet_id)`;
