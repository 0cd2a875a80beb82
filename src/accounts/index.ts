export { AccountsModule } from './accounts.module';
export { accountErrors } from './accounts.errors';
export { AccountsService, type Maker } from './accounts.service';
export { type KeyFilter, nameOfEnabled } from './accounts.repository';
export {
  ApiKeysService,
  GRACE_HOURS,
  isKeyId,
  KEY_DAYS,
  type KeyRequest,
  MAX_ADDRESSES,
  MAX_GRACE_MS,
} from './api-keys.service';
export {
  ACCOUNT_NAME_RULE,
  isAccountName,
  isShortText,
  MAX_NAME_LENGTH,
  SHORT_TEXT_RULE,
} from './short-text';
export {
  FREE,
  isPlanChoice,
  limitsOf,
  MAX_REQUESTS,
  PLANS,
  planTable,
  type Limits,
  type Plan,
  type PlanChoice,
} from './plans';
export { prefixOf } from './secret';
