import { existsSync } from 'node:fs';
import { startTestStore, type TestStore } from '../../src/testing';
import { kennels } from '../modules/support/kennels.extension';
import { sharedServer } from './support/shared-server';

describe('a test store', () => {
  it('has a PostgreSQL of its own in a temporary folder, which close removes', async () => {
    const store = await startTestStore({ extensions: [kennels] });
    expect((await store.fetch('/v1/kennels/first', { key: await store.key() })).status).toBe(409);
    // The folder of its socket.
    const folder = new URL((await store.createDatabase()).url).searchParams.get('host')!;
    expect([folder, existsSync(folder)]).toEqual([expect.stringContaining('animal-store-testing-'), true]);
    await store.close();
    expect(existsSync(folder)).toBe(false);
  });

  describe('on a given server', () => {
    let store: TestStore;
    beforeAll(async () => {
      store = await startTestStore({ extensions: [kennels], server: sharedServer });
    });
    afterAll(() => store.close());

    it('sends bodies as JSON with exact integers, and returns the response', async () => {
      const key = await store.key();
      const body = { name: 'Rex', categoryId: 9007199254740993n };
      const created = await store.fetch('/v1/pets', { method: 'POST', key, body });
      expect(created.status).toBe(201);
      expect(created.text).toContain('"categoryId":9007199254740993,');
      expect((await store.fetch(created.headers.location!, { key })).json.name).toBe('Rex');
    });

    it('creates keys with scopes, limits and an expiry by its clock', async () => {
      const key = await store.key({ scopes: ['kennels:read'], perMinute: 1 });
      expect((await store.fetch('/v1/pets', { key })).status).toBe(403);
      expect((await store.fetch('/v1/pets', { key })).status).toBe(429);
      store.clock.advance({ seconds: 60 });
      expect((await store.fetch('/v1/pets', { key })).status).toBe(403);
      const expiring = await store.key({ expiresAt: new Date(store.clock.now() + 1_000) });
      expect((await store.fetch('/v1/pets', { key: expiring })).status).toBe(200);
      store.clock.advance({ seconds: 1 });
      expect((await store.fetch('/v1/pets', { key: expiring })).json.code).toBe('expired_api_key');
    });

    it('gives two keys of one account one window, and keys of a plan the limits of the plan', async () => {
      const keys = [await store.key({ account: 'acme', plan: 'free' }), await store.key({ account: 'acme' })];
      const remaining = [];
      for (const key of keys) {
        const { headers } = await store.fetch('/v1/pets', { key });
        remaining.push(headers['x-ratelimit-remaining']);
      }
      expect(remaining).toEqual(['59', '58']);
    });
  });

  it('rejects with the sentence of a mistake in an extension, and leaves nothing open', async () => {
    const extensions = [{ name: 'My Kennels' }];
    await expect(startTestStore({ extensions, server: sharedServer })).rejects.toThrow('the name My Kennels');
  });
});
