import './platform/runtime/node-version';
import './platform/runtime/v8-flags';
import 'reflect-metadata';

/** The public API of the package, for the modules of a team: docs/extending.md. */

export { createAnimalStore, type StoreOptions } from './app/build';
export { startAnimalStore } from './app/start';
export { runAnimalStoreCommand } from './cli/program';

export type { Extension, MigrationClass } from './platform/extension/extension';
export { type DefinedScope, defineScopes } from './platform/extension/define-scopes';
export { type CodeFacts, type DefinedError, defineErrors } from './platform/errors/define-errors';
export { CONFIG } from './platform/config/config.token';
export type { Config, ConfigOf, Settings } from './platform/config/config';
export type { Setting } from './platform/config/settings';
export * as parsers from './platform/config/parsers';
export { ApiError, type ErrorOptions } from './platform/errors/api-error';
export { validationFailed } from './platform/errors/platform.errors';
export type { Problem } from './platform/errors/problem-details';
export { UserError } from './platform/errors/user-error';

export { Operation, type OperationFacts } from './platform/api-docs/operation.decorator';
export { ANY_KEY, type RequiredScope } from './platform/api-docs/required-scopes';
export {
  type Choice,
  Decimal,
  Flag,
  Int64,
  Int64List,
  Integer,
  ListOf,
  Nested,
  OneOf,
  Text,
  Timestamp,
} from './platform/validation/fields';
export { AtLeastOne, QuickDto } from './platform/validation/validation.pipe';
export { Public } from './platform/routes/route-facts';
export { CurrentPrincipal, type Principal, RequireScope } from './auth';

export { PathId } from './platform/validation/int64';
export { IfMatch, type Precondition } from './platform/entity-tags/entity-tag';
export { type Page, SortedPageQuery } from './platform/paging/page';
export { pages } from './platform/paging/pages';
export { Transaction } from './platform/idempotency';

export { Sql } from './platform/database/sql';
export type { Statement } from './platform/database/statement';
export { Clock } from './platform/runtime/clock';

export type { ChangeListener } from './platform/database/change-listeners';
export {
  ListPetsQuery,
  type NewPet,
  type Pet,
  type PetChange,
  petErrors,
  PetEvents,
  type PetHold,
  PetHolds,
  petScopes,
  PetsModule,
  PetsService,
  type PetStatus,
  type PetUpdate,
} from './pets';
export {
  ListOrdersQuery,
  type NewOrder,
  type Order,
  OrderEvents,
  orderErrors,
  type OrderKey,
  type OrderMove,
  orderScopes,
  type OrderStatus,
  StoreOrdersModule,
  type StoredOrder,
  StoreOrdersService,
} from './store-orders';
