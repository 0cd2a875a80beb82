export { AccountsModule } from './accounts.module';
export { AccountsService } from './accounts.service';
export type { ListedKey } from './api-keys.repository';
export { ApiKeysService, type IssuedKey, type KeyRequest } from './api-keys.service';
export { KeyRotationService, type RotatedKey } from './key-rotation.service';
export { planTable } from './plan-table';
export { isPlan, limitsOf, PLANS, type Limits, type Plan, type PlanChoice } from './plans';
export { hashOf, isWellFormed, type KeyPrefix, prefixOf } from './secret';
