import { setFlagsFromString } from 'node:v8';

/**
 * Keeps V8 from allocating short-lived objects in the old generation. Import this file for its effect.
 *
 * While the heap is small, V8 records which allocation sites create objects that survive a collection, and later
 * allocates objects of these sites as old. During the start of a service that is every site. Such an object waits for
 * the major collection, and until then every minor one copies the objects that it points to. Measured cost: a fifth of
 * the throughput of mixed pages, and 100 MiB (docs/decisions/0014).
 */
setFlagsFromString('--no-allocation-site-pretenuring');
