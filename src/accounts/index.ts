export { AccountsModule } from './accounts.module';
export { accountErrors } from './accounts.errors';
export { AccountsService, type Maker } from './accounts.service';
export { type KeyFilter, nameOfEnabled } from './accounts.repository';
export * from './api-keys.service';
export * from './plans';
export * from './short-text';
export { prefixOf } from './secret';
