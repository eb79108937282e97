/** `deposits` against the chain: reading blocks again, adding up balances, and unsigned transactions to sign elsewhere. */
import { Option, type Command } from 'commander';
import { DepositAudit, type AuditReport } from '../deposits/deposit-audit.js';
import { DepositReturns } from '../deposits/deposit-returns.js';
import { Rescan } from '../deposits/rescan.js';
import { KEEP_SUN, Sweeps, type PlannedTransfer } from '../deposits/sweeps.js';
import { trxOf } from '../domain/conversion.js';
import { OperatorError } from '../domain/operator-error.js';
import { integerArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { creditsText, grouped, table } from './format.js';

const blockArg = integerArg(0n, 2n ** 40n);
const depositArg = integerArg(1n, 2n ** 53n - 1n);
const limitArg = integerArg(1n, 10_000n);
const sunArg = integerArg(0n, 10n ** 12n);
/** A line of progress for so many blocks or addresses. */
const PROGRESS_EACH = 1000;

export function addDepositsChainCommands(deposits: Command, context: CliContext): void {
  addRescan(deposits, context);
  addAudit(deposits, context);
  deposits
    .command('sweep-plan')
    .description('unsigned transactions that take what deposit addresses hold to an address of yours; sends nothing')
    .requiredOption('--to <address>', 'where to; from now on what it sends is no deposit')
    .addOption(
      new Option('--keep-sun <n>', 'TRX to leave at each address, for bandwidth')
        .argParser(sunArg)
        .default(KEEP_SUN, KEEP_SUN.toString()),
    )
    .addOption(new Option('--limit <n>', 'transactions at most').argParser(limitArg).default(1000n, '1000'))
    .action(async (options: { to: string; keepSun: bigint; limit: bigint }) => {
      const act = context.actor('deposits are swept');
      await context.confirm(`What ${options.to} sends to deposit addresses is no deposit from now on.`);
      await context.operate(async (parts) => {
        const plan = await parts.get(Sweeps).plan({ ...options, limit: Number(options.limit) }, act);
        context.print(planText(plan), { transactions: plan });
      });
    });
  addSweepAddresses(deposits, context);
  deposits
    .command('return <deposit>')
    .description(
      'give a deposit back: takes its credits off first, then makes an unsigned transaction; wants a --reason',
    )
    .requiredOption('--to <address>', 'who gets it')
    .action(async (given: string, { to }: { to: string }) => {
      const id = depositArg(given);
      const act = context.actor();
      await context.confirm(`This takes the credits of deposit ${id.toString()} off its project, to be paid to ${to}.`);
      await context.operate(async (parts) => {
        const { transfer, credits, isAgain } = await parts.get(DepositReturns).give(id, to, act);
        const booked = credits === undefined ? 'It was never credited' : `${creditsText(credits)} are off the ledger`;
        const human = [
          `${booked}${isAgain ? ', since before' : ''}. Sign and send this before ${transfer.expiresAt.toISOString()}:`,
          planText([transfer]),
        ];
        context.print(human.join('\n'), { credits: credits ?? null, isAgain, transaction: transfer });
      });
    });
}

function addSweepAddresses(deposits: Command, context: CliContext): void {
  deposits
    .command('sweep-addresses')
    .description('the addresses that sweeps were planned to, and how many payments from each were no deposits since')
    .action(async () => {
      await context.operate(async (parts) => {
        const rows = await parts.get(Sweeps).addresses();
        const human = table(
          ['address', 'since', 'payments not credited'],
          rows.map(({ address, created_at: since, uncredited }) => [address, since, uncredited]),
          'No sweep was planned.',
        );
        context.print(human, rows);
      });
    });
}

function addRescan(deposits: Command, context: CliContext): void {
  deposits
    .command('rescan')
    .description('read solid blocks again and take in what is missing; harmless, and beside live traffic')
    .requiredOption('--from <block>', 'the first block', blockArg)
    .requiredOption('--to <block>', 'the last block', blockArg)
    .action(async ({ from, to }: { from: bigint; to: bigint }) => {
      context.actor('deposits are looked for again');
      const interrupted = context.terminal.interrupted?.();
      await context.operate(async (parts) => {
        const report = await parts.get(Rescan).run(
          { from: Number(from), to: Number(to) },
          (block, found) => {
            if (block % PROGRESS_EACH < 4) {
              context.terminal.err(`up to block ${block.toString()}: ${found.toString()} missing deposits taken in\n`);
            }
          },
          interrupted,
        );
        const human = `${grouped(BigInt(report.blocks))} blocks read, ${report.found.toString()} missing deposits taken in.`;
        context.print(human, report);
      });
    });
}

function addAudit(deposits: Command, context: CliContext): void {
  deposits
    .command('audit')
    .description(
      'hold what deposit addresses have on chain against what was seen; exit code 1 when anything is unexplained',
    )
    .action(async () => {
      await context.operate(async (parts) => {
        const report = await parts.get(DepositAudit).run((addresses) => {
          if (addresses % PROGRESS_EACH === 0) context.terminal.err(`${addresses.toString()} addresses\n`);
        });
        context.print(auditText(report), report);
        if (report.unexplained.length > 0) {
          throw new OperatorError(
            `${report.unexplained.length.toString()} balances are not what was seen: \`deposits rescan\` finds what was missed; TRX by contracts is seen only of nodes that keep it.`,
            1,
            'NOT_TRUE',
          );
        }
      });
    });
}

function auditText({ addresses, unexplained }: AuditReport): string {
  const rows = unexplained.map((each) => [
    each.address,
    each.projectId,
    each.asset,
    trxOf(each.onChain),
    trxOf(each.recorded),
    trxOf(each.onChain - each.recorded),
  ]);
  const head = ['address', 'project', 'asset', 'on chain', 'by the records', 'unexplained'];
  return table(head, rows, `${grouped(BigInt(addresses))} addresses hold what was seen.`);
}

function planText(plan: readonly PlannedTransfer[]): string {
  const rows = plan.map(({ path, from, to, asset, amount, txid, rawDataHex }) => [
    ...[path, from, to, asset, trxOf(amount), txid, rawDataHex],
  ]);
  return table(
    ['key', 'from', 'to', 'asset', 'amount', 'txid', 'bytes to sign'],
    rows,
    'Nothing is worth a transaction.',
  );
}
