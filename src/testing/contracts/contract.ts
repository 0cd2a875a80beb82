/** A promise of a part that a team replaces. */
export interface ContractCase {
  /** A promise in the present tense. */
  readonly title: string;
  /** Rejects with an AssertionError if the promise is broken. */
  readonly check: () => Promise<void>;
}

/** The promises of a part, for any test runner: `for (const { title, check } of contract) it(title, check)`. */
export type Contract = readonly ContractCase[];
