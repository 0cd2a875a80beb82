import { errorFaults, expectThat, successFaults } from './faults';
import { type ApiPromise, rejects } from './promise';

/** Specification, 4.4, and the errors of other addresses and methods. */
export const ordersAndRoutes: readonly ApiPromise[] = [
  {
    name: 'GET /store/orders answers 200 with a JSON array of orders',
    check: async (api) => successFaults(await api.get('/store/orders'), 200),
  },
  rejects('GET /store/orders with limit=101 answers 400 validation_failed', 400, 'validation_failed', (api) =>
    api.get('/store/orders?limit=101'),
  ),
  rejects('an unknown address answers 404 route_not_found', 404, 'route_not_found', (api) =>
    api.get('/nothing-here'),
  ),
  {
    name: 'a method that an address lacks answers 405 method_not_allowed with Allow',
    check: async (api) => {
      const response = await api.send('DELETE', '/pets');
      const allow = response.headers.get('allow');
      return [
        ...errorFaults(response, 405, 'method_not_allowed'),
        ...expectThat(
          /\bGET\b/.test(allow ?? '') && /\bPOST\b/.test(allow ?? ''),
          response.request,
          'Allow with GET and POST',
          allow,
        ),
      ];
    },
  },
];
