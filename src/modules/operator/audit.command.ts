/** `audit`: lists the acts on the service with actor, time and reason. */
import { Option, type Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { AuditLog, type AuditFilter } from '../../platform/database/audit-log.js';
import type { AuditEntry } from '../../platform/database/entities/audit-entry.entity.js';
import { integerArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { momentOf } from '../../domain/moment.js';
import { timeText } from '../../domain/text.js';
import { entry } from './format.js';

const limitArg = integerArg(1n, 1000n);
const entryArg = integerArg(1n, 2n ** 53n - 1n);

type ListOptions = AuditFilter & { readonly limit: bigint };

/** A time of a day, perhaps without seconds or zone, and with a space before it. */
const TIME = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(:\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:\d{2})?$/;

/** Parses a day or a time; UTC if it has no zone. */
function timeArg(text: string): Date {
  const [, day = text, minute = '00:00', second = ':00', zone = 'Z'] = TIME.exec(text) ?? [];
  const time = new Date(`${day}T${minute}${second}${zone}`);
  // Only the day is left to judge: Date would turn one that its month lacks into a day of the next month.
  if (momentOf(day) === undefined || Number.isNaN(time.getTime())) {
    throw new InvalidArgumentError('It must be a UTC day or time, such as 2026-11-20 or 2026-11-20T13:30.');
  }
  return time;
}

export function addAuditCommands(program: Command, context: CliContext): void {
  const audit = program.command('audit').description('read the audit log');
  audit
    .command('list', { isDefault: true })
    .description('list actions, newest first')
    .option('--by <actor>', 'only by this person; the name given with --actor is not proven')
    .option('--role <role>', 'only by this database role, which the database records itself')
    .option('--action <action>', 'only this action, or actions with this prefix: credits, orders.compensate, …')
    .option('--subject <subject>', 'only on this project, order, wallet or finding')
    .option('--since <time>', 'from this UTC day or time', timeArg)
    .option('--until <time>', 'before this UTC day or time', timeArg)
    .option('--before <entry>', 'only entries older than this one: the next page', entryArg)
    .addOption(new Option('--limit <n>', 'number of entries').argParser(limitArg).default(50n, '50'))
    .action((options: ListOptions) => list(context, options));
}

async function list(context: CliContext, options: ListOptions): Promise<void> {
  await context.operate(async (parts) => {
    const { limit: most, ...filter } = options;
    const limit = Number(most);
    // Read one more, to know if there is another page.
    const found = await parts.get(AuditLog).list(filter, limit + 1);
    const rows = found.slice(0, limit);
    const last = found.length > limit ? rows.at(-1) : undefined;
    const more = last === undefined ? [] : [`Older entries: repeat with --before ${last.id.toString()}`];
    context.print([...rows.map(entryText), ...more].join('\n') || 'No entries match.', {
      entries: rows,
      ...(last !== undefined && { next_before: last.id }),
    });
  });
}

function entryText(row: AuditEntry): string {
  return entry(
    [row.id.toString(), timeText(row.at), row.action],
    [
      ['on', row.subject],
      ['by', row.actor],
      ['as', identityText(row)],
      ['why', row.reason],
      ['what', row.detail === null ? null : JSON.stringify(row.detail)],
    ],
  );
}

/** Returns the identity that the actor did not choose; null if none is known. */
function identityText(row: AuditEntry): string | null {
  const roles = [...new Set([row.loginRole, row.actingRole])].filter((role) => role !== null);
  const parts = [
    ...(row.osUser === null ? [] : [`system user ${row.osUser}`]),
    ...(roles.length === 0 ? [] : [`database role ${roles.join(', acting as ')}`]),
  ];
  return parts.length === 0 ? null : parts.join(', ');
}
