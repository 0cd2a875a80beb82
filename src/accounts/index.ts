export { AccountsModule } from './accounts.module';
export { AccountsService } from './accounts.service';
export { type AuditFilter, type KeyFilter, nameOfEnabled } from './accounts.repository';
export { ApiKeysService, type KeyRequest } from './api-keys.service';
export { ACCOUNT_NAME_RULE, isAccountName, isShortText, SHORT_TEXT_RULE } from './short-text';
export { limitsOf, PLANS, planTable, type Limits, type Plan, type PlanChoice } from './plans';
export { hashOfSecret, type KeyPrefix, prefixOf } from './secret';
