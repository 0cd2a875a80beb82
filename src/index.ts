/** The public API of the package, for the modules of a team: docs/extending.md. */

export { createAnimalStore } from './app/build';
export { startAnimalStore } from './app/start';
export { runAnimalStoreCommand } from './cli/program';

export { defineScopes, type Extension, StoreExtension } from './platform/extension/extension';
export { ApiError, type DefinedErrors, defineErrors } from './platform/errors/api-error';
export { CONFIG, type ConfigOf } from './platform/config/config';
export * as parsers from './platform/config/parsers';
export { UserError } from './platform/errors/user-error';

export { Operation } from './platform/api-docs/operation.decorator';
export {
  Decimal,
  Flag,
  Int64,
  Integer,
  ListOf,
  Nested,
  OneOf,
  SomeOf,
  Text,
  Timestamp,
} from './platform/validation/fields';
export { AtLeastOne } from './platform/validation/validation.pipe';
export { Public } from './platform/routes/route-facts';
export { CurrentPrincipal, type Principal, RequireScope } from './auth';

export { PathId } from './platform/validation/int64';
export { IfMatch, type Precondition } from './platform/entity-tags/entity-tag';
export { Page, SortedPageQuery } from './platform/paging/page';
export { Pages, pages } from './platform/database/lists';
export { Idempotent, type Once } from './platform/idempotency/idempotent.decorator';

export { Sql, type Statement } from './platform/database/sql';
export { Clock } from './platform/runtime/clock';

export { Events } from './events';
export { petErrors, PetEvents, PetHolds, PetsModule, PetsService } from './pets';
export { OrderEvents, StoreOrdersModule } from './store-orders';
