/** `audit`: who did what to the service, when and why. */
import { Option, type Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { Database } from '../store/database.js';
import { integerArg } from './arguments.js';
import type { Desk } from './desk.js';
import { table } from './layout.js';

const limitArg = integerArg(1n, 1000n);
const entryArg = integerArg(1n, 2n ** 53n - 1n);

interface ListOptions {
  readonly by?: string;
  readonly action?: string;
  readonly subject?: string;
  readonly since?: Date;
  readonly until?: Date;
  readonly before?: bigint;
  readonly limit: bigint;
}

interface AuditRow {
  readonly id: bigint;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly reason: string | null;
  readonly detail: Readonly<Record<string, unknown>> | null;
}

/** A prefix of the action, since `orders` is all that was done to orders; everything else exactly. */
const LIST = `SELECT id, at, actor, action, subject, reason, detail FROM audit_log
  WHERE ($1::text IS NULL OR actor = $1) AND ($2::text IS NULL OR starts_with(action, $2)) AND ($3::text IS NULL OR subject = $3)
    AND ($4::timestamptz IS NULL OR at >= $4) AND ($5::timestamptz IS NULL OR at < $5) AND ($6::bigint IS NULL OR id < $6)
  ORDER BY id DESC LIMIT $7`;

/** A day or a moment; without a zone it is UTC. */
function timeArg(text: string): Date {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isMoment = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?$/.test(text);
  const hasZone = /(Z|[+-]\d{2}:\d{2})$/.test(text.slice(10));
  const time = isDay || isMoment ? new Date(hasZone || isDay ? text : `${text}Z`) : undefined;
  if (time === undefined || Number.isNaN(time.getTime())) {
    throw new InvalidArgumentError('It must be a day or a time in UTC: 2026-11-20 or 2026-11-20T13:30.');
  }
  return time;
}

export function addAuditCommands(program: Command, desk: Desk): void {
  const audit = program.command('audit').description('who did what to the service, and why');
  audit
    .command('list')
    .description('what was done by commands, newest first')
    .option('--by <actor>', 'by this person; the name is what was told with --actor, not proven')
    .option('--action <action>', 'of this action, or all that begin so: credits, orders.compensate, …')
    .option('--subject <subject>', 'to this project, order, wallet or finding')
    .option('--since <time>', 'from this day or time on (UTC)', timeArg)
    .option('--until <time>', 'before this day or time (UTC)', timeArg)
    .option('--before <entry>', 'only entries older than this one', entryArg)
    .addOption(new Option('--limit <n>', 'how many').argParser(limitArg).default(50n, '50'))
    .action((options: ListOptions) =>
      desk.operate(async (parts) => {
        const rows = await parts
          .get(Database)
          .query<AuditRow>(LIST, [
            options.by ?? null,
            options.action ?? null,
            options.subject ?? null,
            options.since ?? null,
            options.until ?? null,
            options.before ?? null,
            Number(options.limit),
          ]);
        const human = table(
          ['entry', 'at', 'by', 'action', 'subject', 'reason', 'detail'],
          rows.map((row) => [
            row.id,
            row.at,
            row.actor,
            row.action,
            row.subject,
            row.reason,
            row.detail === null ? null : JSON.stringify(row.detail),
          ]),
          'No such entries.',
        );
        desk.print(human, { entries: rows });
      }),
    );
}
