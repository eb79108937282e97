/** `deposits` for the token: its successor, and ignored transfers. */
import { Option, type Command } from 'commander';
import { IgnoredTransferList } from '../deposits/ignored-transfers.js';
import { TokenSuccession } from '../deposits/token-succession.js';
import { Projects } from '../projects/projects.js';
import { integerArg, merchantArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { table } from './format.js';

const blockArg = integerArg(1n, 2n ** 40n);
const limitArg = integerArg(1n, 1000n);

export function addDepositsTokenCommands(deposits: Command, context: CliContext): void {
  addAcceptSuccessor(deposits, context);
  deposits
    .command('tokens')
    .description('list past and present deposit tokens, each with its first block')
    .action(async () => {
      await context.operate(async (parts) => {
        const rows = await parts.get(TokenSuccession).list();
        const human = table(
          ['contract', 'from block', 'replaces'],
          rows.map(({ contract, fromBlock, replaces }) => [contract, fromBlock, replaces]),
          'Deposits are not enabled.',
        );
        context.print(human, rows);
      });
    });
  deposits
    .command('ignored')
    .description('list transfers of other tokens to deposit addresses, which are not credited')
    .option('--merchant <merchant>', 'only to this project', merchantArg)
    .addOption(new Option('--limit <n>', 'number of entries').argParser(limitArg).default(50n, '50'))
    .action(async ({ merchant, limit }: { merchant?: string; limit: bigint }) => {
      await context.operate(async (parts) => {
        if (merchant !== undefined) await parts.get(Projects).get(merchant);
        const rows = await parts.get(IgnoredTransferList).list(Number(limit), merchant);
        const human = table(
          ['day', 'token', 'contract', 'project', 'address', 'transfers', 'units', 'last block', 'last transaction'],
          rows.map((row) => [
            ...[row.day, row.token, row.contract, row.projectId, row.address, row.transfers, row.amount],
            ...[row.lastBlock, row.lastTxid?.toString('hex') ?? null],
          ]),
          'No transfers were ignored.',
        );
        context.print(human, rows);
      });
    });
}

function addAcceptSuccessor(deposits: Command, context: CliContext): void {
  deposits
    .command('accept-successor <token>')
    .description('accept deposits in the successor of a deprecated token from now on; requires --reason')
    .option('--from-block <block>', 'count its transfers from the block that deprecated the old token', blockArg)
    .action(async (contract: string, { fromBlock }: { fromBlock?: bigint }) => {
      const act = context.actor();
      await context.confirm(`From now on, deposits count in ${contract} and no longer in the old token.`);
      await context.operate(async (parts) => {
        const done = await parts.get(TokenSuccession).accept(contract, fromBlock, act);
        const since = `${contract} counts from block ${done.fromBlock.toString()}.`;
        const rescan =
          done.fromBlock > done.readTo
            ? ''
            : ` Blocks up to ${done.readTo.toString()} are already read. Run \`deposits rescan --from ${done.fromBlock.toString()} --to ${done.readTo.toString()}\`.`;
        const human = `${since}${rescan} Set TOKEN_CONTRACT=${contract} for every process and restart each.`;
        context.print(human, done);
      });
    });
}
