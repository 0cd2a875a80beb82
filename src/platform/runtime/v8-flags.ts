import { setFlagsFromString } from 'node:v8';

/** The flags of V8 that this file sets (docs/decisions/0014). Import it for its effect, before any other code. */
export const V8_FLAGS: readonly string[] = [
  // The objects of a request stay in the young generation. Costs without it: a fifth of the mixed pages, 100 MiB.
  '--no-allocation-site-pretenuring',
  // A minor collection copies 0.2 MB: to wake other threads takes longer.
  '--no-parallel-scavenge',
  // A major collection begins when the old generation has grown by half. Costs without it: 35 to 75 MiB.
  '--heap-growing-percent=50',
];

for (const flag of V8_FLAGS) setFlagsFromString(flag);
