/** `deposits`: the account that addresses are derived from, deposits, and decisions on held ones. */
import { Option, type Command } from 'commander';
import { solidHeadOf, TronClient } from '../../platform/chain/tron.client.js';
import { DepositAddresses } from '../deposits/deposit-addresses.js';
import { DepositBook } from '../deposits/deposit-book.js';
import { DepositList } from '../deposits/deposit-list.js';
import { trxOf } from '../../domain/conversion.js';
import { OperatorError } from '../../domain/operator-error.js';
import { Projects } from '../projects/projects.js';
import { choiceArg, integerArg, merchantArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { addDepositsChainCommands } from './deposits-chain.command.js';
import { addDepositsTokenCommands } from './deposits-token.command.js';
import { creditsText, table } from './format.js';

const limitArg = integerArg(1n, 1000n);
const depositArg = integerArg(1n, 2n ** 53n - 1n);
const STATUSES = ['pending', 'held', 'credited', 'ignored', 'dropped'] as const;
const statusArg = choiceArg(STATUSES);

export function addDepositsCommands(program: Command, context: CliContext): void {
  const deposits = program.command('deposits').description('manage on-chain deposits');
  addAddresses(deposits, context);
  addDepositsChainCommands(deposits, context);
  addDepositsTokenCommands(deposits, context);
  deposits
    .command('list')
    .description('list deposits, newest first')
    .option('--merchant <merchant>', 'only of this project', merchantArg)
    .option('--status <status>', `only with this status: ${STATUSES.join(', ')}`, statusArg)
    .addOption(new Option('--limit <n>', 'number of entries').argParser(limitArg).default(50n, '50'))
    .action(async (options: { merchant?: string; status?: (typeof STATUSES)[number]; limit: bigint }) => {
      await context.operate(async (parts) => {
        if (options.merchant !== undefined) await parts.get(Projects).get(options.merchant);
        const rows = await parts.get(DepositList).list(options, Number(options.limit));
        const human = table(
          ['deposit', 'block time', 'project', 'asset', 'amount', 'status', 'reason', 'credits', 'transaction'],
          rows.map((row) => [
            row.id,
            row.blockAt,
            row.projectId,
            row.asset,
            trxOf(BigInt(row.amount)),
            row.returnState === null ? row.status : `${row.status}, ${row.returnState}`,
            row.reason,
            row.credits,
            row.txid.toString('hex'),
          ]),
          'No deposits.',
        );
        context.print(human, rows);
      });
    });
  deposits
    .command('resolve <deposit>')
    .description('credit a held deposit, or refuse it; requires --reason')
    .option('--credit', 'credit it, at the rate of its minute')
    .option('--ignore', 'refuse it permanently')
    .action(async (given: string, options: { credit?: true; ignore?: true }) => {
      const id = depositArg(given);
      if ((options.credit === true) === (options.ignore === true)) {
        throw new OperatorError('The decision is missing. Pass --credit or --ignore.', 2);
      }
      const act = context.actor();
      await context.confirm(
        `This ${options.credit === true ? 'credits' : 'ignores'} deposit ${id.toString()} permanently.`,
      );
      await context.operate(async (parts) => {
        const credits = await parts.get(DepositBook).resolveHeld(id, options.credit === true, act);
        const human = credits === undefined ? 'Ignored.' : `Credited ${creditsText(credits)}.`;
        context.print(human, { deposit: id, credits: credits ?? null });
      });
    });
}

function addAddresses(deposits: Command, context: CliContext): void {
  deposits
    .command('use-account')
    .description(
      'enable deposits with DEPOSIT_XPUB: each project gets an address, and blocks are read from now on (docs/deposits.md)',
    )
    .action(async () => {
      const act = context.actor('deposits begin');
      await context.confirm('Deposits will go to addresses of the account of DEPOSIT_XPUB.');
      await context.operate(async (parts) => {
        const addresses = parts.get(DepositAddresses);
        const head = await parts.get(TronClient).pool.ask('the last solid block', (node) => solidHeadOf(node));
        const { account, isNew } = await addresses.useAccount(head, act);
        let assigned = 0;
        for (let batch = await addresses.assignMissing(); batch > 0; batch = await addresses.assignMissing()) {
          assigned += batch;
        }
        const begun = isNew ? 'is in use from now on' : 'was already in use';
        const human = `Account ${account.toString()} ${begun}; ${assigned.toString()} projects got an address.`;
        context.print(human, { account, isNew, assigned });
      });
    });
  deposits
    .command('addresses')
    .description('list deposit addresses; with --check, derive each again from DEPOSIT_XPUB')
    .option('--check', 'derive each address again; fails if one differs')
    .action(async (options: { check?: true }) => {
      await context.operate(async (parts) => {
        const addresses = parts.get(DepositAddresses);
        const wrong = options.check === true ? await addresses.listMismatched() : [];
        if (wrong.length > 0) {
          const list = wrong.map(({ address }) => address).join(', ');
          throw new OperatorError(
            `Different from the addresses of DEPOSIT_XPUB: ${list}. Make sure that nothing is paid to them.`,
          );
        }
        const rows = await addresses.list();
        const human = table(
          ['account', 'place', 'address', 'project'],
          rows.map(({ account, place, address, projectId }) => [account, place, address, projectId]),
          'No addresses.',
        );
        context.print(human, rows);
      });
    });
}
