import type { TestApp } from './app';
import type { HttpResponse } from './http';

/** The route and the codes of an operation in openapi.json. */
interface ExpectedOperation {
  /** Method and path, such as `get /pets/{petId}`. */
  readonly route: string;
  /** The error codes of each status, in the order of the document. */
  readonly codes: Readonly<Record<number, readonly string[]>>;
  /** The key needs one of them; none: every valid key is enough. */
  readonly scopes: readonly string[];
  readonly isDeprecated?: true;
  /** True if the specification does not have the operation. */
  readonly isExtension?: true;
  /** True if its success has no entity tag. */
  readonly isUntagged?: true;
}

/** A request that gets this status and code. */
export type Rejection = readonly [status: number, code: string, ask: (app: TestApp) => Promise<HttpResponse>];

/** The codes of every operation. */
const ALWAYS = {
  401: ['missing_api_key', 'invalid_api_key', 'expired_api_key', 'revoked_api_key'],
  403: ['insufficient_scope', 'address_not_allowed'],
  408: ['request_timeout'],
  414: ['uri_too_long'],
  417: ['expectation_failed'],
  429: ['rate_limit_exceeded', 'daily_quota_exceeded', 'api_key_banned'],
  431: ['headers_too_large'],
  500: ['internal_error'],
  503: ['service_unavailable'],
};

/** The codes of a list. */
const LIST = {
  ...ALWAYS,
  200: [],
  304: [],
  400: ['malformed_request', 'validation_failed', 'invalid_cursor'],
};
/** The codes of an operation with a body. */
const BODY = {
  ...ALWAYS,
  400: ['malformed_request', 'malformed_json', 'validation_failed'],
  413: ['payload_too_large'],
  415: ['unsupported_media_type'],
};
/** The codes of an operation that returns one resource. */
const ONE = { ...ALWAYS, 200: [], 304: [], 400: ['malformed_request', 'validation_failed'] };
/** Of a resource with members that its entity tag leaves out. */
const { 304: _shared, ...UNSHARED } = ONE;
/** The codes of a change that obeys If-Match. */
const CONDITIONAL = { 412: ['precondition_failed'] };
/** The codes of a removal. */
const REMOVAL = { ...ALWAYS, ...CONDITIONAL, 400: ['malformed_request', 'validation_failed'] };
/** The codes of an operation without a body that changes a resource and takes an Idempotency-Key. */
const CHANGED_ONCE = {
  ...ALWAYS,
  200: [],
  400: ['malformed_request', 'validation_failed'],
  409: ['idempotency_key_in_use'],
  422: ['idempotency_key_reused'],
};
/** The codes of an operation that creates a resource and takes an Idempotency-Key. */
const KEYED = { ...BODY, 201: [], 409: ['idempotency_key_in_use'], 422: ['idempotency_key_reused'] };

const WEBHOOKS = ['webhooks:manage'];
const WEBHOOKS_OF_ANY = [...WEBHOOKS, 'admin'];

const { 304: _tagged, ...OF_KEY } = { ...ONE, ...ALWAYS, 403: ['address_not_allowed'] };
/** The codes of a response with a secret, which is not stored. */
const SECRET = [...KEYED[409], 'secret_already_shown'];
/** The facts of every operation of administration. */
const ADMIN = { scopes: ['admin'], isExtension: true } as const;
const ACCOUNT = { 404: ['account_not_found'] };
const KEY = { 404: ['key_not_found'] };

/** The operations of every module by `operationId`. */
export const operations: Readonly<Record<string, ExpectedOperation>> = {
  listPets: { route: 'get /pets', codes: LIST, scopes: ['pets:read'] },
  createPet: { route: 'post /pets', codes: KEYED, scopes: ['pets:write'] },
  searchPets: { route: 'get /pets/search', codes: LIST, scopes: ['pets:read'], isExtension: true },
  getInventory: { route: 'get /store/inventory', codes: ONE, scopes: ['pets:read'], isExtension: true },
  listCategories: { route: 'get /categories', codes: LIST, scopes: ['pets:read'], isExtension: true },
  createPets: {
    route: 'post /pets/batch',
    codes: KEYED,
    scopes: ['pets:write'],
    isExtension: true,
    isUntagged: true,
  },
  getPet: {
    route: 'get /pets/{petId}',
    codes: { ...ONE, 404: ['pet_not_found'] },
    scopes: ['pets:read'],
    isDeprecated: true,
  },
  updatePet: {
    route: 'patch /pets/{petId}',
    codes: { ...BODY, ...CONDITIONAL, 200: [], 404: ['pet_not_found'], 409: ['pet_has_open_order'] },
    scopes: ['pets:manage'],
    isExtension: true,
  },
  deletePet: {
    route: 'delete /pets/{petId}',
    codes: {
      ...REMOVAL,
      204: [],
      404: ['pet_not_found'],
      409: ['pet_has_open_order', 'pet_in_use'],
    },
    scopes: ['pets:manage'],
    isExtension: true,
  },
  listOrders: { route: 'get /store/orders', codes: LIST, scopes: ['orders:read', 'orders:manage'] },
  placeOrder: {
    route: 'post /store/orders',
    codes: {
      ...KEYED,
      404: ['pet_not_found'],
      409: ['pet_not_available', 'too_many_open_orders', ...KEYED[409]],
    },
    scopes: ['orders:write'],
    isExtension: true,
  },
  getOrder: {
    route: 'get /store/orders/{orderId}',
    codes: { ...ONE, 404: ['order_not_found'] },
    scopes: ['orders:read', 'orders:manage'],
    isExtension: true,
  },
  updateOrder: {
    route: 'patch /store/orders/{orderId}',
    codes: {
      ...BODY,
      ...CONDITIONAL,
      200: [],
      404: ['order_not_found'],
      409: ['pet_not_available', 'invalid_transition'],
    },
    scopes: ['orders:write', 'orders:manage'],
    isExtension: true,
  },
  listEvents: {
    route: 'get /events',
    codes: { ...LIST, 410: ['cursor_expired'] },
    scopes: ['events:read'],
    isExtension: true,
  },
  listWebhooks: { route: 'get /webhooks', codes: LIST, scopes: WEBHOOKS_OF_ANY, isExtension: true },
  createWebhook: {
    route: 'post /webhooks',
    codes: { ...KEYED, 409: ['too_many_webhooks', ...SECRET] },
    scopes: WEBHOOKS,
    isExtension: true,
  },
  getWebhook: {
    route: 'get /webhooks/{webhookId}',
    codes: { ...UNSHARED, 404: ['webhook_not_found'] },
    scopes: WEBHOOKS,
    isExtension: true,
  },
  updateWebhook: {
    route: 'patch /webhooks/{webhookId}',
    codes: { ...BODY, ...CONDITIONAL, 200: [], 404: ['webhook_not_found'] },
    scopes: WEBHOOKS,
    isExtension: true,
  },
  deleteWebhook: {
    route: 'delete /webhooks/{webhookId}',
    codes: {
      ...ALWAYS,
      ...CONDITIONAL,
      204: [],
      400: ['malformed_request', 'validation_failed'],
      404: ['webhook_not_found'],
    },
    scopes: WEBHOOKS_OF_ANY,
    isExtension: true,
  },
  testWebhook: {
    route: 'post /webhooks/{webhookId}/test',
    codes: {
      ...ALWAYS,
      200: [],
      400: ['malformed_request', 'validation_failed'],
      404: ['webhook_not_found'],
    },
    scopes: WEBHOOKS,
    isExtension: true,
    isUntagged: true,
  },
  getDeliveries: {
    route: 'get /webhooks/{webhookId}/deliveries',
    codes: {
      ...ALWAYS,
      200: [],
      400: ['malformed_request', 'validation_failed'],
      404: ['webhook_not_found'],
    },
    scopes: WEBHOOKS,
    isExtension: true,
    isUntagged: true,
  },
  resendEvent: {
    route: 'post /webhooks/{webhookId}/deliveries/{eventId}/resend',
    codes: {
      ...ALWAYS,
      200: [],
      400: ['malformed_request', 'validation_failed'],
      404: ['webhook_not_found', 'event_not_found'],
    },
    scopes: WEBHOOKS,
    isExtension: true,
    isUntagged: true,
  },
  rotateWebhook: {
    route: 'post /webhooks/{webhookId}/rotate',
    codes: {
      ...ALWAYS,
      ...BODY,
      200: [],
      404: ['webhook_not_found'],
      409: SECRET,
      422: KEYED[422],
    },
    scopes: WEBHOOKS,
    isExtension: true,
  },
  listAccounts: { ...ADMIN, route: 'get /accounts', codes: LIST },
  createAccount: {
    ...ADMIN,
    route: 'post /accounts',
    codes: { ...KEYED, 409: ['account_exists', ...KEYED[409]] },
  },
  getAccount: { ...ADMIN, route: 'get /accounts/{account}', codes: { ...ONE, ...ACCOUNT } },
  updateAccount: {
    ...ADMIN,
    route: 'patch /accounts/{account}',
    codes: { ...BODY, ...CONDITIONAL, ...ACCOUNT, 200: [], 409: ['plan_conflict', 'last_admin_key'] },
  },
  listAudit: { ...ADMIN, route: 'get /audit', codes: LIST },
  listKeys: { ...ADMIN, route: 'get /accounts/{account}/keys', codes: { ...LIST, ...ACCOUNT } },
  createKey: {
    ...ADMIN,
    route: 'post /accounts/{account}/keys',
    codes: { ...KEYED, ...ACCOUNT, 409: ['account_disabled', ...SECRET] },
    isUntagged: true,
  },
  getKeyById: { ...ADMIN, route: 'get /keys/{keyId}', codes: { ...UNSHARED, ...KEY } },
  updateKey: {
    ...ADMIN,
    route: 'patch /keys/{keyId}',
    codes: { ...BODY, ...CONDITIONAL, ...KEY, 200: [], 409: ['last_admin_key'] },
  },
  revokeKey: {
    ...ADMIN,
    route: 'delete /keys/{keyId}',
    codes: { ...REMOVAL, ...KEY, 200: [], 409: ['last_admin_key'] },
  },
  rotateKey: {
    ...ADMIN,
    route: 'post /keys/{keyId}/rotate',
    codes: { ...CHANGED_ONCE, ...BODY, ...KEY, 409: ['key_not_usable', ...SECRET] },
    isUntagged: true,
  },
  unbanKey: { ...ADMIN, route: 'post /keys/{keyId}/unban', codes: { ...CHANGED_ONCE, ...KEY } },
  getKey: {
    route: 'get /key',
    // Only a request without a valid key counts in a window: that of its address.
    codes: { ...OF_KEY, 429: ['rate_limit_exceeded'] },
    scopes: [],
    isExtension: true,
    isUntagged: true,
  },
  getUsage: {
    route: 'get /usage',
    codes: { ...OF_KEY, 403: ALWAYS[403] },
    scopes: [],
    isExtension: true,
    isUntagged: true,
  },
};
