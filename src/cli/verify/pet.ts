import { expectThat, type Faults, int64Faults, isFilled } from './faults';
import { memberOf } from './json-value';

export const STATUSES: readonly unknown[] = ['available', 'pending', 'sold'];

/** Pet of the specification, section 2. Further members are no fault: they may be added within a version. */
export function petFaults(value: unknown, where: string): Faults {
  const status = memberOf(value, 'status');
  return [
    ...int64Faults(memberOf(value, 'id'), `${where}, id`),
    ...expectThat(
      isFilled(memberOf(value, 'name')),
      `${where}, name`,
      'a text that is not blank',
      memberOf(value, 'name'),
    ),
    ...int64Faults(memberOf(value, 'categoryId'), `${where}, categoryId`),
    ...expectThat(STATUSES.includes(status), `${where}, status`, `one of ${STATUSES.join(', ')}`, status),
  ];
}
