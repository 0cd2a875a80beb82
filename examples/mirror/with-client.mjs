// Keeps a copy of all animals and orders in a file with the client for TypeScript, and continues after it was stopped.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { createAnimalStore, toJSON } from 'animal-store-client';

const { API = 'http://127.0.0.1:3000/v1/', KEY = '', COPY = 'copy.json', PAUSE_MS = '5000' } = process.env;
const store = createAnimalStore({ baseUrl: API, key: KEY });

const byId = (rows) => Object.fromEntries(rows.map((row) => [row.id, toJSON(row)]));

/** The position comes first: each change after it has an event. A key without `orders:manage` leaves out `account`. */
async function begin(feed) {
  const cursor = await feed.start();
  const pets = byId(await store.listPets().toArray());
  return { cursor, pets, orders: byId(await store.listOrders({ account: '*' }).toArray()) };
}

/** Reads again what an event names: `data` may be older than what was read. */
async function update({ pets, orders }, { type, data: { id } }) {
  if (type.startsWith('order.')) Object.assign(orders, byId([await store.getOrder(id)]));
  if (!type.startsWith('pet.')) return;
  const found = byId(await store.listPets({ id }).toArray());
  delete pets[id];
  Object.assign(pets, found);
}

async function save(copy) {
  await writeFile(`${COPY}.new`, JSON.stringify(copy));
  await rename(`${COPY}.new`, COPY);
}

async function follow(saved) {
  const feed = store.events({ from: 'now' }, { cursor: saved?.cursor, pauseMs: Number(PAUSE_MS) });
  const copy = saved ?? (await begin(feed));
  await save(copy);
  for await (const event of feed) {
    await update(copy, event);
    await save({ ...copy, cursor: feed.cursor });
  }
}

let saved = await readFile(COPY, 'utf8').then(JSON.parse, () => {});
for (;;) {
  await follow(saved).catch((error) => {
    if (error.code !== 'cursor_expired') throw error;
  });
  saved = undefined;
}
