/** The flags of V8 in the process of the service (decision 14). */
export const V8_FLAGS: readonly string[] = [
  // The objects of a request stay in the young generation. Costs without it: a fifth of the mixed pages, 100 MiB.
  '--no-allocation-site-pretenuring',
  // A minor collection copies 0.2 MB: to wake other threads takes longer.
  '--no-parallel-scavenge',
  // A major collection begins when the old generation has grown by half. Costs without it: 35 to 75 MiB.
  '--heap-growing-percent=50',
];

/** The size of the young generation, an option of the start commands: V8 reads it before any code runs. */
export const YOUNG_GENERATION = '--max-semi-space-size=32';
