/** `statements`: the monthly statements of projects. */
import { Option, type Command } from 'commander';
import { OperatorError } from '../../domain/operator-error.js';
import type { Credits } from '../../domain/units.js';
import { Projects } from '../projects/projects.js';
import { StatementCsv } from '../statements/statement-csv.js';
import { StatementList } from '../statements/statement-list.js';
import { jsonOf, statementBody } from '../statements/statements.dto.js';
import type { LedgerStatement } from '../../platform/database/entities/statement.entity.js';
import { integerArg, merchantArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { creditsText, fields, table } from './format.js';

const limitArg = integerArg(1n, 1000n);

export function addStatementsCommands(program: Command, context: CliContext): void {
  const statements = program
    .command('statements')
    .description('read monthly statements of the ledger, which never change');
  statements
    .command('list')
    .description('list statements, newest first')
    .option('--merchant <merchant>', 'only of this project', merchantArg)
    .addOption(new Option('--limit <n>', 'number of entries').argParser(limitArg).default(50n, '50'))
    .action(async ({ merchant, limit }: { merchant?: string; limit: bigint }) => {
      await context.operate(async (parts) => {
        if (merchant !== undefined) await parts.get(Projects).get(merchant);
        const rows = await parts.get(StatementList).newest(merchant, Number(limit));
        const human = table(
          ['project', 'statement', 'month', 'entries', 'opening', 'closing', 'closed'],
          rows.map((row) => [
            ...[row.projectId, row.number, row.month.slice(0, 7), row.lines],
            ...[row.openingCredits, row.closingCredits, row.closedAt],
          ]),
          'No statements.',
        );
        context.print(human, rows.map(shown));
      });
    });
  statements
    .command('show <merchant> <number>')
    .description('show one statement: its balances, and the sum of each kind of entry')
    .action(async (merchant: string, number: string) => {
      await context.operate(async (parts) => {
        const row = await find(parts.get(StatementList), merchantArg(merchant), number);
        const amount = (credits: bigint): string => creditsText(credits as Credits);
        const human = fields([
          ...([['statement', row.number] as const, ['month', row.month.slice(0, 7)] as const] as const),
          ['opening balance', amount(row.openingCredits)],
          ['charges', amount(row.chargeCredits)],
          ['refunds', amount(row.refundCredits)],
          ['compensations', amount(row.compensationCredits)],
          ['deposits', amount(row.depositCredits)],
          ['top-ups', amount(row.topupCredits)],
          ['adjustments', amount(row.adjustmentCredits)],
          ['closing balance', amount(row.closingCredits)],
          ['entries', row.lines],
          ['closed', row.closedAt],
        ]);
        context.print(human, shown(row));
      });
    });
  statements
    .command('csv <merchant> <number>')
    .description('print the entries of one statement as CSV, with or without --json')
    .action(async (merchant: string, number: string) => {
      await context.operate(async (parts) => {
        const row = await find(parts.get(StatementList), merchantArg(merchant), number);
        const pages = parts.get(StatementCsv).pages(row, async (read) => read());
        for await (const page of pages) context.terminal.out(page);
      });
    });
}

async function find(statements: StatementList, merchant: string, number: string): Promise<LedgerStatement> {
  const found = await statements.find(merchant, number);
  if (found === undefined)
    throw new OperatorError(
      `Statement ${number} of this project does not exist; \`statements list\` shows them.`,
      1,
      'NOT_FOUND',
    );
  return found;
}

function shown(row: LedgerStatement) {
  return { merchant: row.projectId, ...statementBody(jsonOf(row)) };
}
