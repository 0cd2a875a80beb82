import { arrayFaults, expectThat, type Faults, int64Faults } from './faults';
import { memberOf } from './json-value';
import { type ApiPromise, refuses } from './promise';

const ORDER_STATUSES: readonly unknown[] = ['placed', 'approved', 'delivered', 'cancelled'];
/** RFC 3339, in UTC. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

/** Specification, 4.4, and what every other address answers. */
export const ordersAndRoutes: readonly ApiPromise[] = [
  {
    name: 'GET /store/orders answers 200 with a JSON array of orders',
    check: async (api) => arrayFaults(await api.get('/store/orders'), orderFaults),
  },
  refuses('GET /store/orders with limit=101 answers 400 validation_failed', 400, 'validation_failed', (api) =>
    api.get('/store/orders?limit=101'),
  ),
  refuses('an unknown address answers 404 route_not_found', 404, 'route_not_found', (api) =>
    api.get('/nothing-here'),
  ),
  {
    name: 'a method that an address lacks answers 405 method_not_allowed with Allow',
    check: async (api) => {
      const answer = await api.send('DELETE', '/pets');
      const allow = answer.headers.get('allow');
      return [
        ...expectThat(answer.status === 405, answer.request, '405', answer.status),
        ...expectThat(
          memberOf(answer.body, 'code') === 'method_not_allowed',
          answer.request,
          'code method_not_allowed',
          memberOf(answer.body, 'code'),
        ),
        ...expectThat(
          /\bGET\b/.test(allow ?? '') && /\bPOST\b/.test(allow ?? ''),
          answer.request,
          'Allow with GET and POST',
          allow,
        ),
      ];
    },
  },
];

function orderFaults(value: unknown, where: string): Faults {
  const status = memberOf(value, 'status');
  const placedAt = memberOf(value, 'placedAt');
  return [
    ...int64Faults(memberOf(value, 'id'), `${where}, id`),
    ...int64Faults(memberOf(value, 'petId'), `${where}, petId`),
    ...expectThat(
      ORDER_STATUSES.includes(status),
      `${where}, status`,
      `one of ${ORDER_STATUSES.join(', ')}`,
      status,
    ),
    ...expectThat(
      typeof placedAt === 'string' && TIME.test(placedAt),
      `${where}, placedAt`,
      'a time in UTC (RFC 3339)',
      placedAt,
    ),
  ];
}
