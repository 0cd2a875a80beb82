import { setFlagsFromString } from 'node:v8';

/**
 * The flags of V8 that this file sets. Import it for its effect, before any other code.
 *
 * V8 reads each of them at every collection, so they take effect at run time. The size of the young generation does not:
 * V8 reads that one when it creates the heap, so the start script sets it (docs/decisions/0014).
 */
export const V8_FLAGS: readonly string[] = [
  /**
   * Keeps V8 from allocating short-lived objects in the old generation.
   *
   * While the heap is small, V8 records which allocation sites create objects that survive a collection, and later
   * allocates objects of these sites as old. During the start of a service that is every site. Such an object waits for
   * the major collection, and until then every minor one copies the objects that it points to. Measured cost: a fifth of
   * the throughput of mixed pages, and 100 MiB.
   */
  '--no-allocation-site-pretenuring',
  /**
   * Runs minor collections on one thread. They copy 0.2 MB, and to wake and await other threads takes longer than that.
   * Measured cost: a quarter of the time of these collections.
   */
  '--no-parallel-scavenge',
  /**
   * Starts a major collection when the old generation has grown by half. Without it V8 waits for up to four times the
   * size, because that collection is short. Measured cost: 75 MiB on Node.js 20, 35 MiB on Node.js 24.
   */
  '--heap-growing-percent=50',
];

for (const flag of V8_FLAGS) setFlagsFromString(flag);
