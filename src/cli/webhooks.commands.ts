import { parseInt64 } from '../platform/validation/int64';
import { AccountWebhooks, AccountWebhooksModule, typesText } from '../webhooks';
import type { CommandContext } from './context';
import { listOf, type OutputCommand } from './output';

export function addWebhooksCommands(webhooks: OutputCommand, context: CommandContext): void {
  const withWebhooks = <T>(work: (service: AccountWebhooks) => Promise<T>) =>
    context.withService(AccountWebhooks, work, AccountWebhooksModule);
  webhooks
    .command('list')
    .description('list all webhooks, or those of an account; never shows secrets')
    .option('--account <name>', 'only webhooks of this account')
    .option('--failing', 'only webhooks whose last delivery failed, with the reason')
    .prints(async ({ account: owner, failing }: { account?: string; failing?: true }) => {
      const listed = await withWebhooks((service) => service.list(owner));
      const shown = failing ? listed.filter(({ status }) => status === 'failing') : listed;
      return listOf(
        shown,
        ({ id, account = '', url, types, status, createdAt, lastDeliveryAt, lastError }) => {
          const facts = { id: String(id), account, url, types: typesText(types), status };
          const lastAt = lastDeliveryAt && new Date(lastDeliveryAt);
          const times = { createdAt: new Date(createdAt), lastDeliveryAt: lastAt };
          return { ...facts, ...times, ...(failing && { lastError }) };
        },
      );
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
