import type { ApiClient } from './api-client';
import type { Faults } from './faults';

export const NONE_ADDED: Faults = ['expected an animal that was added earlier, got none'];

/** Returns the path of the first animal that was added, or of an unknown one if none was. */
export function createdPath({ changes }: ApiClient): string {
  return `/pets/${changes.created[0]?.id ?? 0n}`;
}
