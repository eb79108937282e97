/** `deposits` on chain: rescans blocks, audits balances, and plans unsigned transactions to sign elsewhere. */
import { Option, type Command } from 'commander';
import { DepositAudit, type AuditReport } from '../deposits/deposit-audit.js';
import { DepositReturns } from '../deposits/deposit-returns.js';
import { Rescan } from '../deposits/rescan.js';
import { KEEP_SUN, Sweeps } from '../deposits/sweeps.js';
import { trxOf } from '../domain/conversion.js';
import { OperatorError } from '../domain/operator-error.js';
import { integerArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { arrivalText, returnText, sweepJson, sweepText, transferJson } from './deposit-plan-text.js';
import { creditsText, grouped, table } from './format.js';

const blockArg = integerArg(0n, 2n ** 40n);
const depositArg = integerArg(1n, 2n ** 53n - 1n);
const limitArg = integerArg(1n, 10_000n);
const sunArg = integerArg(0n, 10n ** 12n);
/** Blocks or addresses per line of progress. */
const PROGRESS_EACH = 1000;

interface SweepCommandOptions {
  readonly to: string;
  readonly keepSun: bigint;
  readonly limit: bigint;
  readonly rented?: boolean;
}

export function addDepositsChainCommands(deposits: Command, context: CliContext): void {
  addRescan(deposits, context);
  addAudit(deposits, context);
  deposits
    .command('sweep-plan')
    .description('unsigned transactions that take what deposit addresses hold to an address of yours; sends nothing')
    .requiredOption('--to <address>', 'where to; from now on what it sends is no deposit')
    .addOption(
      new Option('--keep-sun <n>', 'sun to leave at each address, for what the transactions burn')
        .argParser(sunArg)
        .default(KEEP_SUN, KEEP_SUN.toString()),
    )
    .option('--rented', 'count on the energy that the plan names being rented before: no TRX stays for it')
    .addOption(new Option('--limit <n>', 'transactions at most').argParser(limitArg).default(1000n, '1000'))
    .action(async ({ rented, limit, ...options }: SweepCommandOptions) => {
      const act = context.actor('deposits are swept');
      await context.confirm(`What ${options.to} sends to deposit addresses is no deposit from now on.`);
      await context.operate(async (parts) => {
        const wish = { ...options, limit: Number(limit), isRented: rented === true };
        const plan = await parts.get(Sweeps).plan(wish, act);
        context.print(sweepText(plan), sweepJson(plan));
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
      await context.operate(async (parts) => {
        const returns = parts.get(DepositReturns);
        const planned = await returns.preview(id, to);
        await context.confirm(
          `This takes the credits of deposit ${id.toString()} off its project. ${arrivalText(planned)}`,
        );
        const { transfer, credits, isAgain } = await returns.give(id, to, act);
        const booked = credits === undefined ? 'It was never credited' : `${creditsText(credits)} are off the ledger`;
        const human = `${booked}${isAgain ? ', since before' : ''}. ${returnText(transfer)}`;
        context.print(human, { credits: credits ?? null, isAgain, transaction: transferJson(transfer) });
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
