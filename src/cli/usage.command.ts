import type { Command } from 'commander';
import { dateOf } from '../time/time';
import { type UsageQuery, UsageService } from '../usage';
import { day } from './arguments';
import type { CommandContext } from './context';
import { listOf, type OutputCommand } from './output';

const BAR_WIDTH = 10;
const UUID = /^([0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function addUsageCommand(usage: OutputCommand, context: CommandContext): void {
  usage
    .description('show the requests of each UTC day and key; bars on a terminal: █ admitted, ░ rejected')
    .option('--account <name>', 'only keys of this account')
    .option('--from <date>', 'first day, such as 2026-11-01; default: 29 days before the last', day)
    .option('--to <date>', 'last day; default: today', day)
    .prints(async (options: UsageQuery, command: Command) => {
      const { from = '', to = dateOf(Date.now()) } = options;
      if (from > to) command.error(`error: --from ${from} must not be later than --to ${to}.`);
      const days = await context.withService(UsageService, (service) => service.listAll(options));
      const most = days.reduce((max, { admitted, rejected }) => Math.max(max, admitted + rejected), 0);
      // At least one block for at least one request.
      const bar = (count: number, block: string) => block.repeat(Math.ceil((count / most) * BAR_WIDTH));
      return listOf(days, ({ date, account, keyId, label, ...counts }) => {
        const bars = `${bar(counts.admitted, '█')}${bar(counts.rejected, '░')}`;
        const key = label ?? keyId.replace(UUID, '$1…');
        return { date, account, key, ...counts, ...(process.stdout.isTTY && { requests: bars }) };
      });
    });
}
