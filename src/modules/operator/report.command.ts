/** `report`: revenue, costs and margin by day, project or wallet. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { usageError } from '../../domain/operator-error.js';
import { Reports, type ReportBy } from '../reports/report-service.js';
import type { CliContext } from './cli-context.js';
import { reportCsv } from '../reports/report-csv.js';
import { reportJson, reportText } from './report-text.js';

const DAY_MS = 86_400_000;
const DAYS_MAX = 3660;

/** Parses a day in UTC. */
function dayArg(text: string): Date {
  const day = /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(text) : undefined;
  // Date parses the 30th of February as a day in March.
  if (day === undefined || Number.isNaN(day.getTime()) || dayOf(day) !== text) {
    throw new InvalidArgumentError('It must be a UTC day, such as 2026-11-20.');
  }
  return day;
}

const dayOf = (at: Date): string => at.toISOString().slice(0, 10);

interface ReportOptions {
  readonly from: Date;
  readonly to: Date;
  readonly by: ReportBy;
  readonly csv?: boolean;
}

export function addReportCommand(program: Command, context: CliContext): void {
  program
    .command('report')
    .description('report revenue, refunds, chain costs and margin per UTC day, project or wallet')
    .requiredOption('--from <day>', 'first day', dayArg)
    .requiredOption('--to <day>', 'last day, included', dayArg)
    .addOption(new Option('--by <what>', 'group rows by').choices(['day', 'project', 'wallet']).default('day'))
    .option('--csv', 'print CSV with exact amounts')
    .action((options: ReportOptions) => report(context, options));
}

async function report(context: CliContext, { from, to, by, csv }: ReportOptions): Promise<void> {
  const days = (to.getTime() - from.getTime()) / DAY_MS + 1;
  if (days < 1) throw usageError('--to is before --from.');
  if (days > DAYS_MAX) throw usageError(`The period is too long: at most ${DAYS_MAX.toString()} days.`);
  if (csv === true && context.isJson) throw usageError('--csv and --json cannot be combined.');
  await context.operate(async (parts) => {
    const made = await parts.get(Reports).make({ from, before: new Date(to.getTime() + DAY_MS), by });
    if (csv === true) context.terminal.out(reportCsv(made));
    else context.print(reportText(made, dayOf(from), dayOf(to)), reportJson(made, dayOf(from), dayOf(to)));
  });
}
