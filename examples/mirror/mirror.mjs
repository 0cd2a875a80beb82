// Keeps a copy of all animals and orders in a file, and continues after it was stopped.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const { API = 'http://127.0.0.1:3000/v1/', KEY = '', COPY = 'copy.json', PAUSE_MS = '5000' } = process.env;
const SIZE = 'limit=100';

/** Waits while the service is unavailable or a limit is reached. JSON.parse rounds integers above 2^53. */
async function get(path) {
  for (;;) {
    const response = await fetch(new URL(path, API), { headers: { Authorization: `Bearer ${KEY}` } }).catch(
      () => {},
    );
    const text = await response?.text().catch(() => {});
    const [, next] = /<([^>]*)>; rel="next"/.exec(response?.headers.get('link')) ?? [];
    if ([200, 404, 410].includes(response?.status) && text)
      return { status: response.status, data: JSON.parse(text), next };
    if (response && response.status !== 429 && response.status < 500) throw new Error(text);
    await sleep(1_000 * (response?.headers.get('retry-after') ?? 1));
  }
}

async function readAll(path) {
  const rows = {};
  for (let page = await get(path); ; page = await get(page.next)) {
    for (const row of page.data) rows[row.id] = row;
    if (!page.next) return rows;
  }
}

/** The position comes first: each change after it has an event. A key without `orders:manage` leaves out `account`. */
async function begin() {
  const { next } = await get(`events?from=now&${SIZE}`);
  return {
    next,
    pets: await readAll(`pets?${SIZE}`),
    orders: await readAll(`store/orders?account=*&${SIZE}`),
  };
}

/** Reads what has changed again, because the event of an earlier change may follow what was read. */
async function update({ pets, orders }, events) {
  const idsOf = (kind) => [
    ...new Set(events.filter(({ type }) => type.startsWith(kind)).map(({ data }) => data.id)),
  ];
  const changed = idsOf('pet.');
  const found = changed.length > 0 ? await readAll(`pets?${SIZE}&id=${changed.join('&id=')}`) : {};
  for (const id of changed) delete pets[id];
  Object.assign(pets, found);
  for (const id of idsOf('order.')) {
    const { status, data } = await get(`store/orders/${id}`);
    if (status === 200) orders[id] = data;
    else delete orders[id];
  }
}

let copy = await readFile(COPY, 'utf8').then(JSON.parse, () => {});
for (;;) {
  copy ??= await begin();
  await writeFile(`${COPY}.new`, JSON.stringify(copy));
  await rename(`${COPY}.new`, COPY);
  const { status, data, next } = await get(copy.next);
  if (status === 200) await update(copy, data);
  copy = status === 410 ? undefined : { ...copy, next };
  if (data.length === 0) await sleep(Number(PAUSE_MS));
}
