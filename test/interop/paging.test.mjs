import assert from 'node:assert/strict';
import { test } from 'node:test';
import { got } from 'got';
import { addPets, baseUrl, createKey } from './support/service.mjs';

const ANIMALS = 1_000;
const ENOUGH = ['--plan', 'enterprise', '--per-minute', '100000', '--per-day', '100000'];

test(`got 14: paginate.all finds ${ANIMALS} animals with the Link header only, each once and in order`, async () => {
  const key = await createKey('got', { plan: ENOUGH });
  const added = await addPets(key, ANIMALS);
  const found = await got.paginate.all(`${baseUrl}/pets`, {
    searchParams: { limit: 100, status: 'available' },
    headers: { authorization: `Bearer ${key}` },
  });
  const ids = found.map(({ id }) => id);
  assert.ok(ids.length >= ANIMALS);
  assert.deepEqual(
    ids,
    [...new Set(ids)].sort((one, other) => one - other),
  );
  assert.deepEqual(
    added.filter((id) => !ids.includes(id)),
    [],
  );
});
