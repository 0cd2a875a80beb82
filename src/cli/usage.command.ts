import { type UsageQuery, UsageService } from '../usage';
import { day } from './arguments';
import type { CommandContext } from './context';
import { listOf, type OutputCommand } from './output';

const BAR_WIDTH = 10;

export function addUsageCommand(usage: OutputCommand, context: CommandContext): void {
  usage
    .description('show the requests of each UTC day and key; bars on a terminal: █ admitted, ░ rejected')
    .option('--account <name>', 'only keys of this account')
    .option('--from <date>', 'first day, such as 2026-11-01; default: 29 days before the last', day)
    .option('--to <date>', 'last day; default: today', day)
    .prints(async (options: UsageQuery) => {
      const days = await context.withService(UsageService, (service) => service.listAll(options));
      const most = days.reduce((max, { admitted, rejected }) => Math.max(max, admitted + rejected), 0);
      // At least one block for at least one request.
      const bar = (count: number, block: string) => block.repeat(Math.ceil((count / most) * BAR_WIDTH));
      return listOf(days, ({ date, account, keyId, label, ...counts }) => {
        const requests = `${bar(counts.admitted, '█')}${bar(counts.rejected, '░')}`;
        const bars = process.stdout.isTTY && { requests };
        return { date, account, key: label ?? keyId, ...counts, ...bars };
      });
    });
}
