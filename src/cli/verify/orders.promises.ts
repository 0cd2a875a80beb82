import { MAX_INT64 } from '../../platform/http/int64';
import type { ApiClient } from './api-client';
import { createdPath, NONE_ADDED } from './created-animals';
import { errorFaults, expectThat, type Faults, successFaults } from './faults';
import { memberOf } from './json-value';
import { type ApiPromise, MANAGE_PETS } from './promise';
import type { ReceivedResponse } from './received-response';

/** One order of the first animal that was added, which the last promise cancels. */
export const orders: readonly ApiPromise[] = [
  { name: 'POST /store/orders answers 201 with the order of an available animal', check: placeOrder },
  {
    name: 'an animal with an open order keeps its status and cannot be removed: 409 pet_has_open_order',
    needs: MANAGE_PETS,
    check: holdsAnimal,
  },
  {
    name: 'PATCH /store/orders/{orderId} approves with the scope orders:manage only: without it 403 insufficient_scope',
    check: approval,
  },
  { name: 'PATCH /store/orders/{orderId} cancels, and answers 200 also when repeated', check: cancellation },
];

function place(api: ApiClient): Promise<ReceivedResponse> {
  const petId = api.changes.created[0]?.id ?? MAX_INT64;
  return api.once('POST', '/store/orders', { body: `{"petId":${petId}}` });
}

async function placeOrder(api: ApiClient): Promise<Faults> {
  const [pet] = api.changes.created;
  if (!pet) return NONE_ADDED;
  const response = await place(api);
  const faults = successFaults(response, 201);
  if (response.status !== 201) return faults;
  const { body, request } = response;
  const [petId, status] = [memberOf(body, 'petId'), memberOf(body, 'status')];
  return [
    ...faults,
    ...expectThat(petId === pet.id, `${request}, petId`, String(pet.id), petId),
    ...expectThat(status === 'placed', `${request}, status`, 'placed', status),
  ];
}

async function holdsAnimal(api: ApiClient): Promise<Faults> {
  const path = createdPath(api);
  const update = await api.send('PATCH', path, { body: '{"status":"sold"}' });
  const removal = await api.send('DELETE', path);
  return [update, removal].flatMap((response) => errorFaults(response, 409, 'pet_has_open_order'));
}

/** A key with orders:manage is one to which an order shows its account. */
async function approval(api: ApiClient): Promise<Faults> {
  const isStaff = memberOf((await place(api)).body, 'account') !== undefined;
  const response = await change(api, 'approved');
  return isStaff
    ? orderFaults(response, 'approved')
    : errorFaults(response, 403, 'insufficient_scope').map(
        (fault) => `${fault} (the placed order shows no account, so the key lacks orders:manage)`,
      );
}

async function cancellation(api: ApiClient): Promise<Faults> {
  const first = await change(api, 'cancelled');
  const again = await change(api, 'cancelled');
  return [
    ...orderFaults(first, 'cancelled'),
    ...orderFaults(again, 'cancelled'),
    ...expectThat(again.text === first.text, again.request, 'the order as it was', again.text),
  ];
}

function change(api: ApiClient, status: string): Promise<ReceivedResponse> {
  const path = `/store/orders/${api.changes.orders[0] ?? MAX_INT64}`;
  return api.send('PATCH', path, { body: `{"status":"${status}"}` });
}

function orderFaults(response: ReceivedResponse, wanted: string): Faults {
  const faults = successFaults(response, 200);
  if (response.status !== 200) return faults;
  const got = memberOf(response.body, 'status');
  return [...faults, ...expectThat(got === wanted, `${response.request}, status`, wanted, got)];
}
