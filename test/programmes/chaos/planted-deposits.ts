// Planted bugs in the verification of payments on chain, and in crediting each exactly once.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const BOOK = 'modules/deposits/deposit-book.ts';
const ROWS = 'modules/deposits/deposit-rows.ts';
const JUDGE = 'modules/deposits/deposit-judge.ts';
const DEPOSIT_SQL = 'modules/deposits/deposit-sql.ts';
const BLOCKS = 'platform/blocks/witnessed-blocks.ts';
const EXECUTED = 'platform/chain/executed-block.ts';
const TRANSFERS = 'platform/chain/transfers.ts';
const RETURNS = 'modules/deposits/deposit-returns.ts';
const DRAFT = 'modules/deposits/sweep-draft.ts';
const COSTS = 'modules/deposits/transfer-costs.ts';

const deposits = (title: string): NamedTest => ({ file: 'integration/deposits/deposits.test.ts', title });
const money = (title: string): NamedTest => ({ file: 'integration/deposits/deposits-money.test.ts', title });
const guards = (title: string): NamedTest => ({ file: 'integration/deposits/deposits-guards.test.ts', title });
const watched = (title: string): NamedTest => ({ file: 'integration/deposits/deposits-watched.test.ts', title });
const worst = (title: string): NamedTest => ({ file: 'long/deposits/deposits-worst.test.ts', title });
const sweeps = (title: string): NamedTest => ({ file: 'integration/deposits/sweeps.test.ts', title });
const acts = (title: string): NamedTest => ({ file: 'integration/deposits/sweeps-acts.test.ts', title });
const transfers = (title: string): NamedTest => ({ file: 'unit/chain/transfers.test.ts', title });

export const PLANTED_DEPOSITS: readonly PlantedBug[] = [
  {
    name: 'deposits are read at the head instead of from solid blocks',
    changes: [
      {
        file: BLOCKS,
        find: "async readHeight(port: PortName = 'solid')",
        put: "async readHeight(port: PortName = 'full')",
      },
      {
        file: BLOCKS,
        find: "watched: Watched, port: PortName = 'solid')",
        put: "watched: Watched, port: PortName = 'full')",
      },
    ],
    test: deposits('in TRX and one in USDT are credited once, when their block is solid'),
  },
  {
    name: 'deposits are known by their transaction alone',
    changes: one(ROWS, 'return `deposit:${txid}:${kind}:${place.toString()}`;', 'return `deposit:${txid}:${kind}:0`;'),
    test: worst('with two transfers to one address and one to another project has all of them credited'),
  },
  {
    name: 'an empty list of receipts is taken as a block in which nothing moved',
    changes: one(
      EXECUTED,
      "if (receipt === undefined) throw new NodeError(node.name, 'nonsense', `no receipt of ${txid}`);",
      'if (receipt === undefined) return { txid, owner: undefined, feeSun: 0n, transfers: [] };',
    ),
    test: worst('and the deposit is credited once they do not'),
  },
  {
    name: 'the cursor moves apart from the credit',
    changes: one(
      'platform/blocks/block-follower.ts',
      'if (!(await this.cursor.move(tx, block, fence))) return undefined;',
      'if (!(await this.cursor.move(this.database as never, block, fence))) return undefined;',
    ),
    test: {
      file: 'long/deposits/deposit-faults.test.ts',
      title: 'leaves nothing, and the next one credits the deposit once',
    },
  },
  {
    name: "any contract's event is a payment in USDT",
    changes: one(
      'modules/deposits/block-payments.ts',
      "return contract === tokenContract ? 'USDT' : undefined;",
      "return contract === tokenContract ? 'USDT' : 'USDT';",
    ),
    test: deposits('of another token is counted by day, without an event'),
  },
  {
    name: 'a delegation by a contract is a payment',
    changes: one(TRANSFERS, '.filter(({ note }) => MOVING_NOTES.has(note))', ''),
    test: transfers('an entry'),
  },
  {
    name: 'a payment by a contract is known by its position alone',
    changes: one(BOOK, 'await atRecordedPlaces(tx, block.payments)', 'await Promise.resolve(block.payments)'),
    test: watched(
      'is known under its place from when all entries of a receipt counted, and another one has its own place',
    ),
  },
  {
    name: 'an internal transfer that was rejected is a payment',
    changes: one(TRANSFERS, 'if (rejected !== undefined && rejected !== false) return undefined;', ''),
    test: transfers('an entry'),
  },
  {
    name: 'deposits are credited at the rate of the moment',
    changes: one(JUDGE, 'this.rateHistory.find(tx, asset, at)', 'this.rateHistory.find(tx, asset, new Date())'),
    test: deposits('is that of the block’s minute, whenever it is read'),
  },
  {
    name: 'what our own addresses send is a deposit',
    changes: one('modules/deposits/block-payments.ts', 'const isOurs = ownSenders.has(from);', 'const isOurs = false;'),
    test: money('goes to no deposit address, and a transfer between two of them is no project’s deposit'),
  },
  {
    name: 'what leaves a deposit address is not recorded',
    changes: one(BOOK, 'await insertMovements(tx, block, movements);', 'await insertMovements(tx, block, []);'),
    test: money('is signed elsewhere, and its transfers and fees explain the rest'),
  },
  {
    name: 'what left a deposit address for a thief is taken for a sweep',
    changes: one(
      'platform/database/deposit-outflows.ts',
      'AND NOT EXISTS (SELECT FROM deposit_sweep_address WHERE address = r.address)',
      'AND false',
    ),
    test: watched(
      'to another party are found until they are explained, even if every balance matches; a sweep and a return are not',
    ),
  },
  {
    name: 'sweeps go to an address that pays deposits',
    changes: one('modules/deposits/sweeps.ts', 'if (found?.is_payer === true) {', 'if (found === undefined) {'),
    test: money(
      'goes to no address that has paid a deposit, which goes on paying, and keeps no address without a plan',
    ),
  },
  {
    name: 'a deposit is given back by two transactions',
    changes: one(RETURNS, 'if (row.is_lost !== true) {', 'if (row.is_lost === null) {'),
    test: money(
      'removes the credits first, is paid once, and gets another transaction only if the first can no longer arrive',
    ),
  },
  {
    name: 'what was reverted stays pending',
    changes: one(
      DEPOSIT_SQL,
      "AND d.reason = 'not_solid' AND d.block_number <= $1\n",
      "AND d.reason = 'not_solid' AND d.block_number < 0 * $1::bigint\n",
    ),
    test: {
      file: 'long/deposits/deposits-head.test.ts',
      title: 'a deposit whose block is reverted for good is dropped, and never credited',
    },
  },
  {
    name: 'an address is given out that the key does not give',
    changes: one(
      'modules/deposits/deposit-addresses.ts',
      'if (key.addressAt(Number(row.place)) !== row.address) {',
      'if (row.address === key.addressAt(0).slice(1)) {',
    ),
    test: {
      file: 'integration/deposits/deposits-api.test.ts',
      title: 'is refused if the key derives another one than was assigned',
    },
  },
  {
    name: 'what left an address by a return without a record is returned once more',
    changes: one(RETURNS, 'if (left !== undefined) {', 'if (false) {'),
    test: watched('does not return again what a lost return already paid to the address'),
  },
  {
    name: 'a return worth less than one credit is entered',
    changes: one(RETURNS, 'taken.credits !== undefined && taken.credits > 0n', 'taken.credits !== undefined'),
    test: watched(
      'a return worth less than one credit, of a deposit that carried small ones, removes nothing and is paid once',
    ),
  },
  {
    name: 'a deposit that a balance cannot take in stops all deposits',
    changes: one(
      JUDGE,
      'total > CREDITS_MAX || total > (await batch.roomOf(candidate.projectId))',
      'total > CREDITS_MAX',
    ),
    test: guards('that the balance cannot hold is held, and others’ payments in the same block are credited'),
  },
  {
    name: 'a deposit is given back to an address of ours',
    changes: one(RETURNS, 'if (own !== undefined) {', 'if (false) {'),
    test: guards('goes to no address of the service, where it would be credited to no project or move nothing'),
  },
  {
    name: 'an account is begun without who is being made',
    changes: one('modules/deposits/deposit-addresses.ts', 'await tx.query(MAKE_BESIDE);', ''),
    test: guards('exist for every project, even one created while the account is begun'),
  },
  {
    name: "a sweep's minimum is judged before what is kept behind",
    changes: one(DRAFT, 'planned.transfer.amount < minimums.TRX) return;', 'trxSun < minimums.TRX) return;'),
    test: sweeps('judges the minimum of a deposit after the amount left behind'),
  },
  {
    name: 'a sweep takes all of the token',
    changes: one('modules/deposits/sweeps.ts', 'this.config.deposits.sweepLeavesToken ? KEPT_TOKEN : 0n', '0n'),
    test: sweeps('leaves the smallest amount of the token behind, so that the next payment takes half the energy'),
  },
  {
    name: 'a planned transfer knows nothing of the tokens that the one before it brings its receiver',
    changes: one(DRAFT, 'this.receiver = { ...this.receiver, holdsToken: true };', ''),
    test: sweeps('followed step by step arrives, and uses exactly the rented energy'),
  },
  {
    name: 'a planned transfer of TRX ignores what the token transfer before it burns',
    changes: one(DRAFT, 'const burntSun = before.trxSun - leftSun;', 'const burntSun = funds.trxSun - leftSun;'),
    test: sweeps('without rented energy leaves TRX for the burn of the token transaction'),
  },
  {
    name: 'a plan creates the account of its receiver for nothing',
    changes: one(COSTS, 'createsAccount ? prices.systemContractFeeSun : 0n', '0n'),
    test: sweeps('without rented energy leaves TRX for the burn of the token transaction'),
  },
  {
    name: 'the fee limit of a sweep is fixed',
    changes: one(
      COSTS,
      'return (withMargin > nextStep ? withMargin : nextStep) * prices.energyFeeSun;',
      'return withMargin > nextStep ? 30_000_000n : 30_000_000n;',
    ),
    test: sweeps('has fee limits by the present price, which is'),
  },
  {
    name: 'an address without an account is planned as if it had one',
    changes: one(
      'modules/deposits/deposit-transfers.ts',
      `needsActivation: !funds.isOnChain,
      createsReceiver: false,`,
      `needsActivation: false,
      createsReceiver: false,`,
    ),
    test: sweeps('followed step by step arrives, and uses exactly the rented energy'),
  },
  {
    name: 'a transaction that no bandwidth is left for is planned',
    changes: one(DRAFT, 'if (transfer.missingSun > 0n) {', 'if (transfer.missingSun < 0n) {'),
    test: sweeps('leaves out a transaction without enough bandwidth, and says so'),
  },
  {
    name: 'the members of a transaction are renamed where it is printed',
    changes: one('modules/operator/cli-context.ts', 'if (value instanceof ForeignJson) return value.value;', ''),
    test: sweeps('printed as JSON is signed with tronweb unchanged, and broadcast'),
  },
  {
    name: 'a sweep goes to an address from which the token can never leave',
    changes: one(
      'modules/deposits/transfer-trials.ts',
      "return (await this.reads.isBlacklisted(to)) === true ? 'receiver_blacklisted' : undefined;",
      'return undefined;',
    ),
    test: acts('the receiver is blacklisted: a transfer would succeed and stay there forever, so it is named'),
  },
  {
    name: 'a return of a paused token is booked',
    changes: one(
      'modules/deposits/transfer-trials.ts',
      "if ((await this.reads.isPaused()) === true) return 'paused';",
      '',
    ),
    test: acts('the token is paused: its transfers are named, TRX arrives, and the rest arrives once it continues'),
  },
  {
    name: 'the fee that the token keeps of a sweep looks like theft',
    changes: one(
      'modules/deposits/block-payments.ts',
      'return isTokenFee === true ?',
      'return isTokenFee === undefined ?',
    ),
    test: acts('a sweep names the arriving amount, its fee is a fee and no theft, and the audit agrees'),
  },
  {
    name: 'anything that leaves beside a transfer is a fee of the token',
    changes: one(TRANSFERS, ' || fee.amount + arrived.amount !== ordered.amount) return logged;', ') return logged;'),
    test: transfers('that exceeds the missing amount'),
  },
  {
    name: 'a return of which the token kept a fee is made again when its record is lost',
    changes: one(RETURNS, "AND f.kind = 'fee')", "AND f.kind = 'none')"),
    test: acts('a return names the arriving amount, is paid by it, and is never made twice even if its record is lost'),
  },
  {
    name: 'tokens that are gone without a record are named by no plan',
    changes: one('modules/deposits/sweeps.ts', 'draft.addMissing(place, least - held);', ''),
    test: sweeps('names an address that holds less of the token than its records say'),
  },
];
