// The actions of a user of the client. The tests run them in Node.js and in Chromium: they use the features of neither,
// and return only values that a page can send to its test.
import { AnimalStoreError, createAnimalStore, etagOf } from 'animal-store-client';

const MAX_INT64 = 9223372036854775807n;
const MIN_INT64 = -9223372036854775808n;

export const open = (options) => createAnimalStore(options);

/** Counts the animals of a category, and the pages in which they came. */
export async function countPages(options, categoryId) {
  const { pets } = open(options);
  const filters = { status: 'available', categoryId: BigInt(categoryId), limit: 50 };
  const ids = [];
  for await (const pet of pets.list(filters)) ids.push(pet.id);
  let pages = 0;
  for await (const page of pets.list(filters).pages()) pages += page.length > 0 ? 1 : 0;
  const isAscending = ids.every((id, index) => index === 0 || id > ids[index - 1]);
  return { pets: ids.length, distinct: new Set(ids).size, isAscending, pages };
}

/** Adds an animal in a category that has none. @returns how many the category has then */
export async function addOne(options, categoryId) {
  const { pets } = open(options);
  const category = { categoryId: BigInt(categoryId) };
  const { id } = await pets.create({ name: 'Only one', ...category });
  const listed = [];
  for await (const pet of pets.list(category)) listed.push(pet.id);
  return { listed: listed.length, isSame: listed[0] === id };
}

/** Removes an animal. @returns how many have its id then, and the error of the removal */
export async function removeOne(options) {
  const { pets } = open(options);
  const { id } = await pets.create({ name: 'Gone', categoryId: 1n });
  const { code } = await errorOf(pets.remove(id));
  let found = 0;
  for await (const pet of pets.list({ id: [id] })) found += pet.id === id ? 1 : 0;
  return { code, found };
}

/** Sends the ends of int64 in a body, a query and a path, and returns what came back. */
export async function exactNumbers(options) {
  const { pets } = open(options);
  const found = [];
  for (const categoryId of [MAX_INT64, MIN_INT64, 9007199254740993n]) {
    const { id } = await pets.create({ name: 'Exact', categoryId });
    const changed = await pets.update(id, { categoryId: categoryId - 0n });
    const [listed] = await firstPage(pets.list({ categoryId, id: [id] }));
    const fetched = await pets.get(id);
    found.push([changed, listed, fetched].map((pet) => String(pet.categoryId)));
  }
  const error = await errorOf(pets.get(MAX_INT64));
  return { found, unknown: error.code };
}

/** Changes what it has read, then with an old tag, and asks again for what it has. */
export async function entityTags(options) {
  const store = open({ ...options, cachedBodies: 10 });
  const pet = await store.pets.create({ name: 'Rex', categoryId: 1n });
  const changed = await store.pets.update(pet.id, { name: 'Bello' }, { ifMatch: etagOf(pet) });
  const outdated = await errorOf(store.pets.remove(pet.id, { ifMatch: etagOf(pet) }));
  const first = await store.pets.get(pet.id);
  const second = await store.pets.get(pet.id);
  const byHand = await store.request('GET', `/pets/${pet.id}`, {
    headers: { 'If-None-Match': etagOf(second) },
  });
  return {
    changed: changed.name,
    outdated: outdated.code,
    isSame: JSON.stringify(plain(first)) === JSON.stringify(plain(second)) && first !== second,
    byHand: [byHand.status, String(byHand.data)],
  };
}

/** Changes and removes what it has read. @returns how many have its id at the end */
export async function changeAndRemove(options) {
  const { pets } = open(options);
  const pet = await pets.create({ name: 'Rex', categoryId: 1n });
  const changed = await pets.update(pet.id, { name: 'Bello' }, { ifMatch: etagOf(pet) });
  const { id } = await pets.create({ name: 'Rex', categoryId: 1n });
  const again = await pets.update(id, { name: 'Bello' });
  await pets.remove(pet.id, { ifMatch: etagOf(changed) });
  const found = await pets.list({ id: [pet.id] }).toArray();
  return { names: [changed.name, again.name], isTagged: etagOf(changed) !== undefined, found: found.length };
}

/** Orders an animal, finds the order, and cancels it. */
export async function orderAndCancel(options) {
  const { pets, orders } = open(options);
  const { id: petId } = await pets.create({ name: 'Rex', categoryId: 1n });
  const order = await orders.place({ petId });
  const { code } = await errorOf(orders.place({ petId }));
  const placed = [];
  for await (const each of orders.list({ status: 'placed' })) placed.push(each.id);
  const cancelled = await orders.update(order.id, { status: 'cancelled' });
  const { status } = await orders.get(order.id);
  return { code, isListed: placed.includes(order.id), statuses: [order.status, cancelled.status, status] };
}

/** Provokes an error. @returns what the error knows */
export async function typedError(options) {
  const store = open(options);
  const error = await errorOf(store.pets.create({ name: '', categoryId: 1n }));
  const isTyped = error instanceof AnimalStoreError;
  const { code, status, message, requestId } = error;
  return {
    isTyped,
    code,
    status,
    message,
    hasRequestId: requestId !== undefined,
    isCounted: store.remaining < 60,
  };
}

async function firstPage(list) {
  for await (const page of list.pages()) return page;
  return [];
}

const plain = (pet) => ({ ...pet, id: String(pet.id), categoryId: String(pet.categoryId) });

const errorOf = (promise) =>
  promise.then(
    () => ({ code: 'no error' }),
    (error) => error,
  );
