/** The public API of the package, for the modules of a team: docs/extending.md. */

export { createAnimalStore } from './app/build';
export { startAnimalStore } from './app/start';
export { runAnimalStoreCommand } from './cli/program';

export { defineScopes, type Extension, StoreExtension } from './api/extension/extension';
export { ApiError, type DefinedErrors, defineErrors } from './api/errors/api-error';
export { CONFIG, type ConfigOf } from './config/config';
export * as parsers from './config/parsers';
export { UserError } from './config/user-error';

export { Operation } from './api/operation/operation.decorator';
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
} from './api/fields/fields';
export { AtLeastOne } from './api/fields/validation.pipe';
export { Public, RequireScope } from './api/routes/route-facts';
export { CurrentPrincipal, type Principal } from './auth';

export { PathId } from './api/fields/int64';
export { IfMatch, type Precondition } from './api/entity-tags/entity-tag';
export { Page, SortedPageQuery } from './api/lists/page';
export { Pages, pages } from './api/lists/lists';
export { Idempotent, type Once } from './api/idempotency/idempotent.decorator';

export { Sql, type Statement } from './database/sql';
export { Clock } from './time/clock';

export { Events } from './events';
// `PetEvents` and `OrderEvents` are earlier names of the hooks.
export { petErrors, PetHolds, PetHooks, PetHooks as PetEvents, PetsModule, PetsService } from './pets';
export { OrderHooks, OrderHooks as OrderEvents, StoreOrdersModule } from './store-orders';
