import type { Contract } from '../../src/testing';

/** Makes a test of each promise of a contract. */
export function itKeeps(contract: Contract): void {
  // oxlint-disable-next-line jest/valid-title, jest/expect-expect -- The contract has the titles and the assertions.
  for (const { title, check } of contract) it(title, check);
}
