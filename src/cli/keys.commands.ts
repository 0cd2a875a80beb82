import { type Command, Option } from 'commander';
import { ApiKeysService, GRACE_HOURS, KEY_DAYS, type KeyRequest } from '../auth';
import { DEFAULT_SCOPES } from '../app/store';
import {
  accountName,
  addresses,
  expiry,
  grace,
  label,
  planChoice,
  planOptions,
  type PlanOptions,
  scopesOption,
  within,
} from './arguments';
import type { CommandContext } from './context';
import { cellText, listOf, type OutputCommand } from './output';

const DEFAULT_EXPIRY = `${KEY_DAYS}d`;
const DEFAULT_GRACE = `${GRACE_HOURS}h`;

type IssuedKey = Awaited<ReturnType<ApiKeysService['rotate' | 'create']>>;

interface CreateOptions extends PlanOptions, KeyRequest {
  readonly expires: Date | 'never';
}

interface ListOptions {
  readonly account?: string;
  readonly expiring?: Date;
  readonly revoked?: true;
  readonly banned?: true;
}

export function addKeysCommands(keys: OutputCommand, context: CommandContext): void {
  addCreateCommand(keys, context);
  addListCommand(keys, context);
  addSetCommands(keys, context);
  addChangeCommands(keys, context);
}

function addCreateCommand(keys: OutputCommand, context: CommandContext): void {
  keys
    .command('create')
    .description('create a key, and its account if it is new; prints the secret once')
    .requiredOption('--account <name>', 'account that owns the key', accountName)
    .addOptions(planOptions('plan of a new account (default: free)'))
    .addOption(scopesOption(context.store.scopes).default(DEFAULT_SCOPES, DEFAULT_SCOPES.join(',')))
    .addOption(
      new Option('--expires <when>', 'time until the key expires, such as 1h or 90d, or never')
        .argParser(expiry)
        .default(expiry(DEFAULT_EXPIRY), DEFAULT_EXPIRY),
    )
    .option('--label <text>', 'purpose of the key', label, '')
    .option('--addresses <list>', 'the only addresses or CIDR blocks that may use the key', addresses)
    .prints(async (options: CreateOptions, command: Command) => {
      const given = planChoice(options, command);
      const choice = options.plan && given;
      const expiresAt = options.expires === 'never' ? null : options.expires;
      const issued = await context.withService(ApiKeysService, (service) =>
        service.create({ ...options, choice, expiresAt }),
      );
      const { id, key, account, plan, scopes } = issued;
      const lines = [
        ...(issued.isNewAccount ? [`New account ${account} (plan ${plan}).`] : []),
        `API key of the account ${account} (plan ${plan}), shown only once:`,
        `  ${key}`,
        `id ${id}, expires ${cellText(issued.expiresAt)}, scopes ${scopes.join(', ')}`,
      ];
      return { json: issuedKeyOf(issued), text: lines.join('\n') };
    });
}

function addListCommand(keys: OutputCommand, context: CommandContext): void {
  keys
    .command('list')
    .description('list all keys, or some of them; never shows secrets')
    .option('--account <name>', 'only keys of this account')
    .option('--expiring <time>', 'only valid keys that expire within this time, such as 30d', within)
    .option('--revoked', 'only revoked keys')
    .option('--banned', 'only keys that are banned now')
    .prints(async ({ account: owner, expiring, revoked, banned }: ListOptions) => {
      const all = await context.readAll(ApiKeysService, (service, query) => service.list(query, owner));
      const now = new Date();
      const listed = all.filter(
        ({ expiresAt, revokedAt, bannedUntil }) =>
          (!expiring || (!revokedAt && expiresAt && expiresAt > now && expiresAt <= expiring)) &&
          (!revoked || revokedAt) &&
          (!banned || bannedUntil),
      );
      return listOf(listed, ({ id, account, label: purpose, prefix, lastFour, ...facts }) => {
        const lists = { scopes: facts.scopes.join(', '), addresses: facts.addresses.join(', ') };
        return { id, account, label: purpose, key: `${prefix}…${lastFour}`, ...facts, ...lists };
      });
    });
}

function addSetCommands(keys: OutputCommand, context: CommandContext): void {
  const settable = {
    scopes: scopesOption(context.store.scopes),
    addresses: new Option('--addresses <list>', 'comma-separated list, or any').argParser(addresses),
  };
  for (const [name, option] of Object.entries(settable)) {
    keys
      .command(`set-${name} <id>`)
      .description(`replace the ${name} of a key; takes effect everywhere within 5 s`)
      .addOption(option.makeOptionMandatory())
      .prints(async (id: string, { [name]: value = [] }: Record<string, readonly string[]>) => {
        const change = { [name]: value };
        await context.withService(ApiKeysService, (service) => service.update(id, change));
        const values = value.join(', ') || 'any';
        const text = `The key ${id} now has the ${name} ${values}; takes effect everywhere within 5 s.`;
        return { json: { id, ...change }, text };
      });
  }
}

function addChangeCommands(keys: OutputCommand, context: CommandContext): void {
  keys
    .command('rotate <id>')
    .description('give a key a new secret and print it once; older secrets work until the grace period ends')
    .addOption(
      new Option('--grace <time>', 'how long older secrets still work: 0 to 7d, such as 30m, 24h, 7d')
        .argParser(grace)
        .default(grace(DEFAULT_GRACE), DEFAULT_GRACE),
    )
    .prints(async (id: string, { grace: graceMs }: { grace: number }) => {
      const rotated = await context.withService(ApiKeysService, (service) => service.rotate(id, graceMs));
      const { key, account, expiresAt, graceEndsAt } = rotated;
      const lines = [
        `New secret of the key ${id} of the account ${account}, shown only once:`,
        `  ${key}`,
        `Older secrets expire at ${graceEndsAt.toISOString()}; every instance rejects them at most 5 s later.`,
        `The key still expires at ${cellText(expiresAt)}.`,
      ];
      return { json: { ...issuedKeyOf(rotated), graceEndsAt }, text: lines.join('\n') };
    });
  keys
    .command('revoke <id>')
    .description('revoke a key; takes effect everywhere within 5 s')
    .destroys('This revokes the key for good.')
    .prints(async (id: string) => {
      await context.withService(ApiKeysService, (service) => service.revoke(id));
      return { json: { id, revoked: true }, text: `Revoked ${id}; takes effect everywhere within 5 s.` };
    });
  keys
    .command('unban <id>')
    .description('lift the ban of a key; takes effect within 5 s')
    .prints(async (id: string) => {
      const { wasBanned } = await context.withService(ApiKeysService, (service) => service.unban(id));
      const text = wasBanned
        ? `Ban of ${id} lifted; takes effect within 5 s.`
        : `The key ${id} is not banned.`;
      return { json: { id, unbanned: wasBanned }, text };
    });
}

/** Returns what `--json` prints of a new secret. */
function issuedKeyOf({ id, key, account, plan, scopes, expiresAt }: IssuedKey) {
  return { id, key, account, plan, scopes, expiresAt };
}
