import type { ApiClient } from './api-client';

const ONCE = { isRetried: false };

/** Cancels the placed orders and removes the animals that are left, if the key may. Waits for no limit. */
export async function removeRest(api: ApiClient): Promise<void> {
  const { left, orders } = api.changes;
  for (const id of orders) {
    await api.send('PATCH', `/store/orders/${id}`, { ...ONCE, body: '{"status":"cancelled"}' });
  }
  for (const { id } of left) {
    const { status } = await api.send('DELETE', `/pets/${id}`, ONCE);
    if (status === 403) return;
  }
}
