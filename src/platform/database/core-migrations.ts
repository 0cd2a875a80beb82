import { AccountsAndApiKeys1795219200000 } from './migrations/0001-accounts-and-api-keys';
import { RateLimit1795219200002 } from './migrations/0003-rate-limit';
import { RotatedSecrets1795219200005 } from './migrations/0006-rotated-secrets';
import { ExtensionMigrations1795219200006 } from './migrations/0007-extension-migrations';
import { Audit1795219200012 } from './migrations/0013-audit';
import { ExternalKeyBans1795219200007 } from './migrations/0008-external-key-bans';

/** The migrations that belong to no extension. */
export const coreMigrations = [
  AccountsAndApiKeys1795219200000,
  RateLimit1795219200002,
  RotatedSecrets1795219200005,
  ExtensionMigrations1795219200006,
  ExternalKeyBans1795219200007,
  Audit1795219200012,
] as const;
