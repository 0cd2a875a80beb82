// Compiled, never run: what the types accept and reject. An unused @ts-expect-error is an error.
import {
  type AnimalStore,
  AnimalStoreError,
  type ErrorCode,
  etagOf,
  type Order,
  type Pet,
  type OwnEvent,
  type StoreEvent,
  stringify,
  toJSON,
  verifyWebhook,
} from 'animal-store-client';

export async function accepted(store: AnimalStore): Promise<void> {
  const pet: Pet = await store.pets.create({ name: 'Rex', categoryId: 3n });
  const id: bigint = pet.id;
  const status: 'available' | 'pending' | 'sold' = pet.status;
  await store.pets.update(id, { status }, { ifMatch: etagOf(pet) });
  const order: Order = await store.orders.place(
    { petId: id },
    { idempotencyKey: 'a', retry: { budgetMs: 1 } },
  );
  await store.orders.update(order.id, { status: 'cancelled' });
  for await (const each of store.orders.list({
    status: ['placed', 'approved'],
    account: '*',
  }))
    await store.orders.get(each.id);
  for await (const page of store.pets.list({ id: [id], sort: '-id' }).pages()) etagOf(page);
  const { data } = await store.request<{ readonly visits: number }>('GET', '/visits');
  data.visits.toFixed();
  const { limits, strikes } = await store.key();
  const share: number = limits.minute.remaining / limits.minute.limit + strikes.count;
  share.toFixed();
  const pets: Pet[] = await store.pets.list().toArray();
  const [first] = toJSON(pets);
  const json: { id: string; name: string; status: 'available' | 'pending' | 'sold' } | undefined = first;
  const text: string = stringify(json);
  const left: number | undefined = store.remaining;
  void [text, left];
}

export function codeOf(error: unknown): ErrorCode | undefined {
  if (!(error instanceof AnimalStoreError)) return undefined;
  if (error.code === 'rate_limit_exceeded') return error.code;
  return error.code === 'a_code_of_an_extension' ? error.code : undefined;
}

export function rejected({ pets, orders }: AnimalStore): void {
  // @ts-expect-error -- an int64 is a bigint, in bodies,
  void pets.create({ name: 'Rex', categoryId: 3 });
  // @ts-expect-error -- in paths,
  void pets.remove(1);
  // @ts-expect-error -- and in queries
  pets.list({ id: [1] });
  // @ts-expect-error -- categoryId is required
  void pets.create({ name: 'Rex' });
  // @ts-expect-error -- not a status of an animal
  pets.list({ status: 'placed' });
  // @ts-expect-error -- the list finds its cursors itself
  orders.list({ cursor: 'a' });
}

interface Weighed extends OwnEvent {
  readonly type: 'clinic.weighed';
  readonly data: { readonly weight: number };
}

/** `type` tells what `data` is, and the compiler that no type is left. */
export function dataOf(event: StoreEvent | Weighed): string {
  switch (event.type) {
    case 'pet.created':
    case 'pet.updated':
    case 'pet.deleted':
      return event.data.name;
    case 'order.placed':
      // @ts-expect-error -- an order has no name
      void event.data.name;
      return event.data.placedAt;
    case 'order.approved':
    case 'order.delivered':
    case 'order.cancelled': {
      const petId: bigint = event.data.petId;
      return String(petId);
    }
    case 'clinic.weighed':
      return event.data.weight.toFixed();
    default:
      return event satisfies never;
  }
}

export async function events(store: AnimalStore, request: Request): Promise<void> {
  const feed = store.events({ type: ['order.placed'] }, { cursor: undefined, pauseMs: 1 });
  for await (const event of feed) dataOf(event);
  const cursor: string | undefined = feed.cursor;
  const sent = await verifyWebhook<Weighed>(request, ['whsec_']);
  const text: string = sent.type === 'webhook.test' ? sent.data.status : dataOf(sent);
  await verifyWebhook({ headers: {}, body: cursor ?? text }, 'whsec_');
  for await (const event of store.events<Weighed>({ type: ['clinic.weighed', 'pet.created'] })) dataOf(event);
  // @ts-expect-error: no such type
  store.events({ type: ['pet.sold'] });
  const start: string | undefined = await store.events({ from: 'now' }).start();
  store.events({ from: 'now' }, { cursor: start });
}

export async function operations(store: AnimalStore): Promise<void> {
  const { secret, id }: { secret: string; id: bigint } = await store.createWebhook({
    url: 'https://shop.example/',
  });
  const found: Pet[] = await store.listPets({ q: secret, status: 'sold' }).toArray();
  await store.deleteWebhook(id, { ifMatch: etagOf(found) });
  // @ts-expect-error -- not a plan
  await store.updateAccount('acme', { plan: 'gold' });
}
