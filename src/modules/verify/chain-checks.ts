/** Rules that only the chain can decide: delegated amounts, final transactions, dead transactions, unrecorded ones. */
import { ChainUnavailableError, NodeError } from '../../platform/chain/errors.js';
import type { Block, BlockHeader } from '../../platform/chain/block.js';
import type { TronNode } from '../../platform/chain/node.js';
import {
  solidBlockOf,
  solidHeaderOf,
  solidHeadOf,
  solidPlaceOf,
  type TronClient,
} from '../../platform/chain/tron.client.js';
import { messageOf } from '../../domain/errors.js';
import type { Database } from '../../platform/database/database.js';
import { CHECK_LIMIT_MS } from './record-check.js';
import { checkCosts } from './cost-checks.js';
import { DelegationCheck, type PairDepth } from './delegation-check.js';
import { FINDINGS_MAX, findingOf, type CheckResult, type Finding, type RuleId, type Stops } from './finding.js';
import { forEachConcurrently } from '../../platform/support/concurrency.js';
import { OWN_WALLETS, Signatories, unrecordedActsIn, type OwnWallet } from './unrecorded-acts.js';

export interface ChainTerms {
  /**
   * Pairs of wallet and receiver to read one by one: all (the default), or only those in doubt after comparing sums.
   */
  readonly pairs: PairDepth;
  /** Limits the pairs read one by one. Every wallet's sum and list of receivers are compared regardless. */
  readonly pairsMax: number;
  /** Blocks with transactions of ours to read again, newest first. */
  readonly blocksMax: number;
  /** Limits the check to final transactions of these orders, oldest blocks first; undefined means all, newest first. */
  readonly ofOrders: readonly bigint[] | undefined;
  /** Blocks read in parallel: as JSON a full block has some megabytes. */
  readonly concurrency: number;
  /** Solid blocks, newest first, to search for unrecorded acts of our wallets. */
  readonly scanBlocks: number;
  /** Tolerated delay of a reclaim after the rental's end, by the chain's clock, in seconds. */
  readonly lateSec: number;
  /** Rows of a broken rule to list. */
  readonly findingsMax: number;
  /** Called before each check. */
  readonly onProgress: ((check: string, made: number, of: number) => void) | undefined;
}

export const CHAIN_CHECK_NAMES = [
  'open-delegations',
  'solid-transactions',
  'dead-transactions',
  'unknown-transactions',
  'reclaim-late',
] as const;

/** Checks made only if everything is judged, because they read receipts. */
const EVERYTHING_CHECK_NAMES = ['chain-costs-receipts'] as const;

type ChainCheckName = (typeof CHAIN_CHECK_NAMES | typeof EVERYTHING_CHECK_NAMES)[number];

const DEFAULTS: ChainTerms = {
  pairs: 'every',
  pairsMax: 20_000,
  blocksMax: 1000,
  ofOrders: undefined,
  concurrency: 4,
  scanBlocks: 40,
  lateSec: 900,
  findingsMax: FINDINGS_MAX,
  onProgress: undefined,
};
/** Transactions looked up in parallel. */
const CONCURRENT_LOOK_UPS = 4;
/** Nodes that must confirm a finding, if that many are configured. */
const WITNESSES = 2;
const DEAD_MAX = 500;

interface Outcome {
  readonly checks: CheckResult[];
  readonly unmade: { check: string; why: string }[];
  /** The last block that was read again, if the limit left out further blocks. */
  blocksTo: bigint | undefined;
}

export async function checkChain(database: Database, client: TronClient, given: Partial<ChainTerms>): Promise<Outcome> {
  const terms = { ...DEFAULTS, ...given };
  const wallets = await database.query<OwnWallet>(OWN_WALLETS);
  const outcome: Outcome = { checks: [], unmade: [], blocksTo: undefined };
  const isWhole = terms.ofOrders === undefined;
  const names = isWhole ? [...CHAIN_CHECK_NAMES, ...EVERYTHING_CHECK_NAMES] : CHAIN_CHECK_NAMES;
  const checks: Readonly<Record<ChainCheckName, () => Promise<CheckResult>>> = {
    'open-delegations': () =>
      new DelegationCheck(database, client, terms.pairs, terms.findingsMax, terms.pairsMax).run(wallets),
    'solid-transactions': async () => {
      const solid = await checkSolid(database, client, terms);
      outcome.blocksTo = solid.blocksTo;
      return solid.result;
    },
    'dead-transactions': () => checkDead(database, client, terms),
    'unknown-transactions': () => checkUnknown(database, client, terms, wallets),
    'reclaim-late': () => checkLate(database, client, terms),
    'chain-costs-receipts': () => checkCosts(database, client, terms),
  };
  for (const [index, check] of names.entries()) {
    terms.onProgress?.(check, index, names.length);
    try {
      outcome.checks.push(await checks[check]());
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      const causes = error.cause instanceof AggregateError ? error.cause.errors.map(messageOf).join('; ') : '';
      outcome.unmade.push({ check, why: `${error.message} (${causes})` });
    }
  }
  return outcome;
}

interface Rule {
  readonly check: string;
  readonly rule: RuleId;
  readonly says: string;
  readonly stops: Stops;
}

function resultOf(rule: Rule, findings: readonly Finding[], max: number, covered?: string): CheckResult {
  const first = findings.slice(0, max);
  return { ...rule, count: findings.length, findings: first, ...(covered === undefined ? {} : { covered }) };
}

/**
 * A block with the recorded transactions in it. The lists have one common order. They are text, because a block holds
 * hundreds of transactions and the driver needs kilobytes for each bytea of an array.
 */
interface SolidRow {
  readonly block_number: bigint;
  readonly block_id: Buffer | null;
  readonly txids: string;
  readonly wallet_ids: string;
  readonly order_ids: string;
}

const SOLID_BLOCKS = `SELECT block_number, block_id, string_agg(encode(txid, 'hex'), ',') AS txids,
    string_agg(wallet_id::text, ',') AS wallet_ids, string_agg(order_id::text, ',') AS order_ids FROM chain_tx WHERE status = 'solid'`;
const BLOCKS_OF_ALL = `${SOLID_BLOCKS} GROUP BY block_number, block_id ORDER BY block_number DESC LIMIT $1`;
const BLOCKS_OF_ORDERS = `${SOLID_BLOCKS} AND order_id = ANY ($2::bigint[]) GROUP BY block_number, block_id ORDER BY block_number LIMIT $1`;

/** A transaction of ours in a block, according to the records. */
interface Recorded {
  readonly txid: string;
  readonly walletId: number;
  readonly orderId: bigint;
}

function recordedOf(row: SolidRow): readonly Recorded[] {
  const [walletIds, orderIds] = [row.wallet_ids.split(','), row.order_ids.split(',')];
  return row.txids.split(',').map((txid, index) => ({
    txid,
    walletId: Number.parseInt(walletIds[index] ?? '', 10),
    orderId: BigInt(orderIds[index] ?? '0'),
  }));
}

const SOLID_RULE: Rule = {
  check: 'solid-transactions',
  rule: 'I3',
  says: 'Every final transaction is in its recorded solid block, with exactly our bytes.',
  stops: 'everything',
};

async function checkSolid(
  database: Database,
  client: TronClient,
  { ofOrders, blocksMax, concurrency, findingsMax }: ChainTerms,
): Promise<{ result: CheckResult; blocksTo: bigint | undefined }> {
  const text = ofOrders === undefined ? BLOCKS_OF_ALL : BLOCKS_OF_ORDERS;
  const params = ofOrders === undefined ? [blocksMax] : [blocksMax, ofOrders];
  const rows = await database.query<SolidRow>({ text, query_timeout: CHECK_LIMIT_MS }, params);
  const findings: Finding[] = [];
  const { check, rule } = SOLID_RULE;
  await forEachConcurrently(rows, concurrency, async (row) => {
    const { block, missing } = await missingFrom(client, row);
    for (const { txid, walletId, orderId } of missing) {
      const facts = {
        block_number: row.block_number,
        recorded_block: row.block_id,
        chain_block: block.id,
        is_in_block: false,
      };
      findings.push(findingOf({ check, rule, subject: `transaction ${txid}`, facts, walletId, orderId }));
    }
  });
  const covered = `${rows.length.toString()} blocks, ${ofOrders === undefined ? 'newest' : 'oldest'} first`;
  const blocksTo = rows.length < blocksMax ? undefined : rows.at(-1)?.block_number;
  return { result: resultOf(SOLID_RULE, findings, findingsMax, covered), blocksTo };
}

/**
 * Returns the block's recorded transactions that no node has there; one node that shows a transaction is enough. If two
 * nodes are configured, two must confirm an absence: a finding stops all sales, and one node may omit something. Throws
 * ChainUnavailableError while only one has answered.
 */
async function missingFrom(
  client: TronClient,
  row: SolidRow,
): Promise<{ block: BlockHeader; missing: readonly Recorded[] }> {
  const [number, id] = [Number(row.block_number), row.block_id?.toString('hex')];
  const first = await solidBlock(client, number).catch(unreadable);
  let missing = first === undefined ? recordedOf(row) : absentFrom(first, id, recordedOf(row));
  if (first !== undefined && missing.length === 0) return { block: first, missing };
  const { nodes } = client.pool;
  let block: BlockHeader | undefined = first;
  let answered = 0;
  for (const node of nodes) {
    const view = await viewOf(node, number, id, missing).catch(notAnswered);
    if (view === undefined) continue;
    answered += 1;
    block ??= view.block;
    ({ missing } = view);
  }
  if (block === undefined || (missing.length > 0 && answered < Math.min(WITNESSES, nodes.length))) {
    throw new ChainUnavailableError(`the solid block ${number.toString()} of ${WITNESSES.toString()} nodes`, []);
  }
  return { block, missing };
}

function absentFrom(block: Block, id: string | undefined, looked: readonly Recorded[]): readonly Recorded[] {
  if (block.id !== id) return looked;
  const present = new Set(block.transactions.filter((tx) => tx.succeeded).map((tx) => tx.txid));
  return looked.filter(({ txid }) => !present.has(txid));
}

/**
 * Returns one node's view. If the node cannot give a readable block, transactions are looked up one by one. Returns
 * undefined while its chain is not that high. Throws NodeError.
 */
async function viewOf(
  node: TronNode,
  number: number,
  id: string | undefined,
  looked: readonly Recorded[],
): Promise<{ block: BlockHeader; missing: readonly Recorded[] } | undefined> {
  const whole = await solidBlockOf(node, number).catch((error: unknown) => {
    if (error instanceof NodeError && error.kind === 'unreadable') return undefined;
    throw error;
  });
  if (whole !== undefined) return { block: whole, missing: absentFrom(whole, id, looked) };
  const block = await solidHeaderOf(node, number);
  if (block === undefined) return undefined;
  if (block.id !== id) return { block, missing: looked };
  const missing: Recorded[] = [];
  await forEachConcurrently(looked, CONCURRENT_LOOK_UPS, async (each) => {
    if ((await solidPlaceOf(node, each.txid))?.blockNumber !== number) missing.push(each);
  });
  return { block, missing };
}

function notAnswered(error: unknown): undefined {
  if (!(error instanceof NodeError) && !(error instanceof ChainUnavailableError)) throw error;
}

/** Maps a block that exists but no node can give to undefined; rethrows all other errors. */
function unreadable(error: unknown): undefined {
  const faults: unknown[] =
    error instanceof ChainUnavailableError && error.cause instanceof AggregateError ? error.cause.errors : [];
  if (!faults.some((fault) => fault instanceof NodeError && fault.kind === 'unreadable')) throw error;
}

async function solidBlock(client: TronClient, number: number): Promise<Block> {
  return client.pool.ask('a solid block', async (node) => {
    const block = await solidBlockOf(node, number);
    if (block === undefined) throw new NodeError(node.name, 'unhealthy', `has no solid block ${number.toString()}`);
    return block;
  });
}

const DEAD_RULE: Rule = {
  check: 'dead-transactions',
  rule: 'I10',
  says: 'No transaction recorded as dead is in a solid block.',
  stops: 'everything',
};

/** A node that reports a dead transaction must show it in a block, by its bytes. */
async function checkDead(database: Database, client: TronClient, terms: ChainTerms): Promise<CheckResult> {
  const rows = await database.query<{ txid: Buffer; wallet_id: number; order_id: bigint }>(
    `SELECT txid, wallet_id, order_id FROM chain_tx WHERE stage = 'dead' AND status = 'dead' ORDER BY id DESC LIMIT $1`,
    [DEAD_MAX],
  );
  const findings: Finding[] = [];
  const { check, rule } = DEAD_RULE;
  await forEachConcurrently(rows, CONCURRENT_LOOK_UPS, async (row) => {
    const txid = row.txid.toString('hex');
    const place = await client.pool.ask('a dead transaction', (node) => solidPlaceOf(node, txid));
    if (place === undefined) return;
    const block = await solidBlock(client, place.blockNumber).catch(unreadable);
    if (!block?.transactions.some((tx) => tx.txid === txid && tx.succeeded)) return;
    const facts = { order_id: row.order_id, block_number: place.blockNumber };
    findings.push(findingOf({ check, rule, subject: `transaction ${txid}`, facts, walletId: row.wallet_id }));
  });
  return resultOf(DEAD_RULE, findings, terms.findingsMax, `${rows.length.toString()} transactions, newest first`);
}

const UNKNOWN_RULE: Rule = {
  check: 'unknown-transactions',
  rule: 'I4',
  says: 'Every delegation, undelegation and activation of our wallets in the newest blocks is recorded.',
  stops: 'wallet',
};

/** Skips acts that the reconciler has recorded; `orphan-transactions` reports those. */
async function checkUnknown(
  database: Database,
  client: TronClient,
  terms: ChainTerms,
  wallets: readonly OwnWallet[],
): Promise<CheckResult> {
  const { number: head } = await client.pool.ask('the solid head', (node) => solidHeadOf(node));
  const from = Math.max(1, head - terms.scanBlocks + 1);
  const numbers = Array.from({ length: Math.max(0, head - from + 1) }, (_, index) => from + index);
  const findings: Finding[] = [];
  const { check, rule } = UNKNOWN_RULE;
  const signatories = new Signatories(database, client);
  await forEachConcurrently(numbers, terms.concurrency, async (number) => {
    // The worker logs a block that cannot be read; here it must not hide acts of other blocks.
    const block = await solidBlock(client, number).catch(unreadable);
    if (block === undefined) return;
    for (const { txid, walletId, byOwnKey, act } of await unrecordedActsIn(database, signatories, block, wallets)) {
      const facts = { block_number: number, type: act.type, receiver: act.receiver, amount_sun: act.amountSun };
      findings.push(
        findingOf({ check, rule, subject: `transaction ${txid}`, facts, ...(byOwnKey ? {} : { walletId }) }),
      );
    }
  });
  const covered = `solid blocks ${from.toString()} to ${head.toString()}`;
  return resultOf(UNKNOWN_RULE, findings, terms.findingsMax, covered);
}

const LATE_RULE: Rule = {
  check: 'reclaim-late',
  rule: 'I6',
  says: 'Every ended rental is reclaimed in time.',
  stops: 'nothing',
};

async function checkLate(database: Database, client: TronClient, terms: ChainTerms): Promise<CheckResult> {
  const head = await client.head();
  const rows = await database.query<{ id: bigint; wallet_id: number; ends_at: Date; needs_attention: boolean }>(
    `SELECT o.id, o.ends_at, o.needs_attention,
        (SELECT min(wallet_id) FROM leg WHERE order_id = o.id AND status IN ('active', 'reclaiming')) AS wallet_id
      FROM orders o WHERE o.settled AND o.status = 'delivered' AND o.kind = 'rental' AND o.reclaimed_at IS NULL
        AND NOT o.test AND o.ends_at < $1 ORDER BY o.ends_at LIMIT 10000`,
    [new Date(head.timestampMs - terms.lateSec * 1000)],
  );
  const { check, rule } = LATE_RULE;
  const findings = rows.map(({ id, wallet_id, ends_at, needs_attention }) =>
    findingOf({
      check,
      rule,
      subject: `order ${id.toString()}`,
      facts: { ends_at, needs_attention },
      walletId: wallet_id,
    }),
  );
  return resultOf(LATE_RULE, findings, terms.findingsMax);
}
