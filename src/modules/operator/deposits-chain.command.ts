/** `deposits` on chain: rescans blocks, audits balances, and plans unsigned transactions to sign elsewhere. */
import { grouped } from '../../domain/text.js';
import { Option, type Command } from 'commander';
import type { HoldingsReport } from '../../domain/holdings-report.js';
import { DepositAudit } from '../deposits/deposit-audit.js';
import { DepositReturns } from '../deposits/deposit-returns.js';
import { Rescan } from '../deposits/rescan.js';
import { KEEP_SUN, Sweeps } from '../deposits/sweeps.js';
import { trxOf } from '../../domain/conversion.js';
import { OperatorError } from '../../domain/operator-error.js';
import { integerArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { arrivalText, returnText, sweepJson, sweepText, transferJson } from './deposit-plan-text.js';
import { creditsText, table } from './format.js';

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
    .description('plan unsigned transactions that sweep deposit addresses to your address; sends nothing')
    .requiredOption('--to <address>', 'your address; transfers from it no longer count as deposits')
    .addOption(
      new Option('--keep-sun <n>', 'sun to leave on each address for fees that the transactions burn')
        .argParser(sunArg)
        .default(KEEP_SUN, KEEP_SUN.toString()),
    )
    .option('--rented', 'assume that the energy named by the plan is rented first, and leave no TRX for it')
    .addOption(new Option('--limit <n>', 'maximum number of transactions').argParser(limitArg).default(1000n, '1000'))
    .action(async ({ rented, limit, ...options }: SweepCommandOptions) => {
      const act = context.actor('deposits are swept');
      await context.confirm(`From now on, transfers from ${options.to} to deposit addresses do not count as deposits.`);
      await context.operate(async (parts) => {
        const wish = { ...options, limit: Number(limit), isRented: rented === true };
        const plan = await parts.get(Sweeps).plan(wish, act);
        context.print(sweepText(plan), sweepJson(plan));
      });
    });
  addSweepAddresses(deposits, context);
  deposits
    .command('return <deposit>')
    .description('return a deposit: deducts its credits, then prints an unsigned transaction; requires --reason')
    .requiredOption('--to <address>', 'recipient')
    .action(async (given: string, { to }: { to: string }) => {
      const id = depositArg(given);
      const act = context.actor();
      await context.operate(async (parts) => {
        const returns = parts.get(DepositReturns);
        const planned = await returns.preview(id, to);
        await context.confirm(
          `This deducts the credits of deposit ${id.toString()} from its project. ${arrivalText(planned)}`,
        );
        const { transfer, credits, isAgain } = await returns.make(id, to, act);
        const booked =
          credits === undefined ? 'The deposit was never credited' : `${creditsText(credits)} are deducted`;
        const human = `${booked}${isAgain ? ' (by an earlier call)' : ''}. ${returnText(transfer)}`;
        context.print(human, { credits: credits ?? null, isAgain, transaction: transferJson(transfer) });
      });
    });
}

function addSweepAddresses(deposits: Command, context: CliContext): void {
  deposits
    .command('sweep-addresses')
    .description('list the targets of planned sweeps, with the later payments from them that were not credited')
    .action(async () => {
      await context.operate(async (parts) => {
        const rows = await parts.get(Sweeps).listAddresses();
        const human = table(
          ['address', 'since', 'payments not credited'],
          rows.map(({ address, created_at: since, uncredited }) => [address, since, uncredited]),
          'No sweep has been planned.',
        );
        context.print(human, rows);
      });
    });
}

function addRescan(deposits: Command, context: CliContext): void {
  deposits
    .command('rescan')
    .description('read solid blocks again and record missing deposits; safe during operation')
    .requiredOption('--from <block>', 'first block', blockArg)
    .requiredOption('--to <block>', 'last block', blockArg)
    .action(async ({ from, to }: { from: bigint; to: bigint }) => {
      context.actor('deposits are looked for again');
      const interrupted = context.terminal.interrupted?.();
      let next = Number(from);
      const rest = (): string => `Continue with \`--from ${next.toString()} --to ${to.toString()}\`.`;
      await context.operate(async (parts) => {
        const onProgress = (block: number, found: number): void => {
          next = block + 1;
          if (block % PROGRESS_EACH < 4) {
            context.terminal.err(`up to block ${block.toString()}: ${found.toString()} missing deposits recorded\n`);
          }
        };
        const rescan = parts.get(Rescan);
        const report = await rescan
          .run({ from: next, to: Number(to) }, onProgress, interrupted)
          .catch((error: unknown) => {
            if (next > Number(from)) context.warn(`The earlier blocks are read. ${rest()}`);
            throw error;
          });
        const human = `${grouped(BigInt(report.blocks))} blocks read, ${report.found.toString()} missing deposits recorded.`;
        context.print(human, report);
        if (report.interrupted) throw new OperatorError(`Interrupted. ${rest()}`, 1, 'INTERRUPTED');
      });
    });
}

function addAudit(deposits: Command, context: CliContext): void {
  deposits
    .command('audit')
    .description('compare the balances of deposit addresses on chain with the records; exit code 1 if they differ')
    .action(async () => {
      await context.operate(async (parts) => {
        const report = await parts.get(DepositAudit).run((addresses) => {
          if (addresses % PROGRESS_EACH === 0) context.terminal.err(`${addresses.toString()} addresses\n`);
        });
        context.print(auditText(report), report);
        if (report.unexplained.length > 0) {
          throw new OperatorError(
            `${report.unexplained.length.toString()} balances differ from the records. Run \`deposits rescan\` for missed deposits; only nodes with internal transactions show TRX sent by contracts.`,
            1,
            'NOT_TRUE',
          );
        }
      });
    });
}

function auditText({ addresses, unexplained }: HoldingsReport): string {
  const rows = unexplained.map((each) => [
    each.address,
    each.projectId,
    each.asset,
    trxOf(each.onChain),
    trxOf(each.recorded),
    trxOf(each.onChain - each.recorded),
  ]);
  const head = ['address', 'project', 'asset', 'on chain', 'by the records', 'unexplained'];
  return table(head, rows, `All ${grouped(BigInt(addresses))} addresses match the records.`);
}
