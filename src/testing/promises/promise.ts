import type { Api } from '../api';
import type { Resources } from '../resources';

/** A promise of every operation, and how to check it. `check` notes each way in which the API breaks it. */
export interface ApiPromise {
  readonly title: string;
  /** Only a test store makes keys; only its document is the subject of a check. */
  readonly needs?: 'test store';
  check(api: Api, resources: Resources): Promise<void> | void;
}
