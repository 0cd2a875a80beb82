import { parseInt64 } from '../platform/validation/int64';
import { AccountWebhooks, AccountWebhooksModule, namesOf } from '../webhooks';
import type { CommandContext } from './context';
import { listOf, type OutputCommand } from './output';

export function addWebhooksCommands(webhooks: OutputCommand, context: CommandContext): void {
  const withWebhooks = <T>(work: (service: AccountWebhooks) => Promise<T>) =>
    context.withService(AccountWebhooks, work, AccountWebhooksModule);
  webhooks
    .command('list')
    .description('list all webhooks, or those of an account; never shows secrets')
    .option('--account <name>', 'only webhooks of this account')
    .prints(async ({ account: owner }: { account?: string }) => {
      const listed = await withWebhooks((service) => service.list(owner));
      return listOf(listed, ({ id, account = '', url, types, status, createdAt, lastDeliveryAt }) => {
        const facts = { id: String(id), account, url, types: namesOf(types), status };
        const lastAt = lastDeliveryAt && new Date(lastDeliveryAt);
        return { ...facts, createdAt: new Date(createdAt), lastDeliveryAt: lastAt };
      });
    });
  webhooks
    .command('remove <id>')
    .description('remove a webhook of any account; its undelivered events are not sent')
    .destroys('This removes the webhook for good.')
    .prints(async (id: string) => {
      await withWebhooks((service) => service.remove(parseInt64(id) ?? 0n));
      return { json: { id, removed: true }, text: `Removed the webhook ${id}.` };
    });
}
