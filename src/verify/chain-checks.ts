/** The rules that only the chain can answer: what is delegated, what is final, what is dead, what nobody recorded. */
import { ChainUnavailableError, NodeFault } from '../chain/errors.js';
import type { Block } from '../chain/block.js';
import { solidBlockOf, solidHeadOf, solidPlaceOf, type TronClient } from '../chain/tron.client.js';
import { messageOf } from '../errors.js';
import type { Database } from '../store/database.js';
import { DelegationCheck, type PairDepth, type WalletRow } from './delegation-check.js';
import { FINDINGS_MAX, findingOf, type CheckResult, type Finding, type RuleId } from './finding.js';
import { inLanes } from './lanes.js';
import { strangersIn } from './strangers.js';

export interface ChainTerms {
  /** Pairs of wallet and receiver read one by one: all (the default), or only where sums disagree. */
  readonly pairs: PairDepth;
  /** Blocks with transactions of ours that are read again, newest first. */
  readonly blocksMax: number;
  /** Solid blocks, newest first, that are searched for acts of our wallets which nobody recorded. */
  readonly scanBlocks: number;
  /** How late, by the chain's clock, a rental's end may be, in seconds. */
  readonly lateSec: number;
}

export const CHAIN_CHECK_NAMES = [
  'open-delegations',
  'solid-transactions',
  'dead-transactions',
  'unknown-transactions',
  'reclaim-late',
] as const;

const DEFAULTS: ChainTerms = { pairs: 'every', blocksMax: 1000, scanBlocks: 40, lateSec: 900 };
const BLOCK_LANES = 4;
const DEAD_MAX = 500;

interface Outcome {
  readonly checks: CheckResult[];
  readonly unmade: { check: string; why: string }[];
}

export async function checkChain(database: Database, client: TronClient, given: Partial<ChainTerms>): Promise<Outcome> {
  const terms = { ...DEFAULTS, ...given };
  const wallets = await database.query<WalletRow>(`SELECT id, address FROM pool_wallet ORDER BY id`);
  const outcome: Outcome = { checks: [], unmade: [] };
  const checks: Readonly<Record<(typeof CHAIN_CHECK_NAMES)[number], () => Promise<CheckResult>>> = {
    'open-delegations': () => new DelegationCheck(database, client, terms.pairs).run(wallets),
    'solid-transactions': () => checkSolid(database, client, terms.blocksMax),
    'dead-transactions': () => checkDead(database, client),
    'unknown-transactions': () => checkUnknown(database, client, terms.scanBlocks, wallets),
    'reclaim-late': () => checkLate(database, client, terms.lateSec),
  };
  for (const check of CHAIN_CHECK_NAMES) {
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

function resultOf(
  check: string,
  rule: RuleId,
  says: string,
  findings: readonly Finding[],
  covered?: string,
): CheckResult {
  const first = findings.slice(0, FINDINGS_MAX);
  return { check, rule, says, count: findings.length, findings: first, ...(covered === undefined ? {} : { covered }) };
}

interface SolidRow {
  readonly block_number: bigint;
  readonly block_ids: Buffer[];
  readonly txids: Buffer[];
  readonly wallet_ids: number[];
}

const SOLID_BLOCKS = `SELECT block_number, array_agg(block_id) AS block_ids, array_agg(txid) AS txids, array_agg(wallet_id) AS wallet_ids
  FROM chain_tx WHERE status = 'solid' GROUP BY block_number ORDER BY block_number DESC LIMIT $1`;

/** Every final transaction stands in the solid block that was recorded, with our own bytes. */
async function checkSolid(database: Database, client: TronClient, blocksMax: number): Promise<CheckResult> {
  const rows = await database.query<SolidRow>(SOLID_BLOCKS, [blocksMax]);
  const findings: Finding[] = [];
  const name = 'solid-transactions';
  await inLanes(rows, BLOCK_LANES, async (row) => {
    const block = await solidBlock(client, Number(row.block_number));
    const present = new Set(block.transactions.filter((tx) => tx.succeeded).map((tx) => tx.txid));
    row.txids.forEach((txid, index) => {
      const recorded = row.block_ids[index]?.toString('hex');
      const isThere = present.has(txid.toString('hex'));
      if (recorded === block.id && isThere) return;
      const facts = {
        block_number: row.block_number,
        recorded_block: recorded,
        chain_block: block.id,
        is_in_block: isThere,
      };
      findings.push(findingOf(name, 'I3', `transaction ${txid.toString('hex')}`, facts, row.wallet_ids[index]));
    });
  });
  const covered = `${rows.length.toString()} blocks, newest first`;
  return resultOf(
    name,
    'I3',
    'Every final transaction stands in its solid block with our own bytes.',
    findings,
    covered,
  );
}

async function solidBlock(client: TronClient, number: number): Promise<Block> {
  return client.pool.ask('a solid block', async (node) => {
    const block = await solidBlockOf(node, number);
    if (block === undefined) throw new NodeFault(node.name, 'unhealthy', `has no solid block ${number.toString()}`);
    return block;
  });
}

/** What was given up as dead is in no solid block, by the word of every healthy node. */
async function checkDead(database: Database, client: TronClient): Promise<CheckResult> {
  const rows = await database.query<{ txid: Buffer; wallet_id: number; order_id: bigint }>(
    `SELECT txid, wallet_id, order_id FROM chain_tx WHERE status = 'dead' ORDER BY id DESC LIMIT $1`,
    [DEAD_MAX],
  );
  const findings: Finding[] = [];
  const name = 'dead-transactions';
  await inLanes(rows, BLOCK_LANES, async (row) => {
    const txid = row.txid.toString('hex');
    const place = await client.pool.ask('a dead transaction', (node) => solidPlaceOf(node, txid));
    if (place === undefined) return;
    const facts = { order_id: row.order_id, block_number: place.blockNumber };
    findings.push(findingOf(name, 'I10', `transaction ${txid}`, facts, row.wallet_id));
  });
  const covered = `${rows.length.toString()} transactions, newest first`;
  return resultOf(name, 'I10', 'What was given up as dead is in no solid block.', findings, covered);
}

/** Acts of our wallets in the newest solid blocks that have no record. */
async function checkUnknown(
  database: Database,
  client: TronClient,
  scanBlocks: number,
  wallets: readonly WalletRow[],
): Promise<CheckResult> {
  const { number: head } = await client.pool.ask('the solid head', (node) => solidHeadOf(node));
  const from = Math.max(1, head - scanBlocks + 1);
  const numbers = Array.from({ length: Math.max(0, head - from + 1) }, (_, index) => from + index);
  const findings: Finding[] = [];
  const name = 'unknown-transactions';
  await inLanes(numbers, BLOCK_LANES, async (number) => {
    const block = await solidBlock(client, number);
    for (const { txid, walletId, act } of await strangersIn(database, block, wallets)) {
      const facts = { block_number: number, type: act.type, receiver: act.receiver, amount_sun: act.amountSun };
      findings.push(findingOf(name, 'I4', `transaction ${txid}`, facts, walletId));
    }
  });
  const covered = `solid blocks ${from.toString()} to ${head.toString()}`;
  return resultOf(
    name,
    'I4',
    'Every delegation, undelegation and activation of our wallets is recorded.',
    findings,
    covered,
  );
}

/** Rentals whose end the chain's clock passed long ago and which are not taken back. */
async function checkLate(database: Database, client: TronClient, lateSec: number): Promise<CheckResult> {
  const head = await client.head();
  const rows = await database.query<{ id: bigint; wallet_id: number; ends_at: Date; needs_attention: boolean }>(
    `SELECT o.id, o.ends_at, o.needs_attention,
        (SELECT min(wallet_id) FROM leg WHERE order_id = o.id AND status IN ('active', 'reclaiming')) AS wallet_id
      FROM orders o WHERE o.settled AND o.status = 'delivered' AND o.kind = 'rental' AND o.reclaimed_at IS NULL
        AND o.ends_at < $1 ORDER BY o.ends_at LIMIT 10000`,
    [new Date(head.timestampMs - lateSec * 1000)],
  );
  const name = 'reclaim-late';
  const findings = rows.map(({ id, wallet_id, ends_at, needs_attention }) =>
    findingOf(name, 'I6', `order ${id.toString()}`, { ends_at, needs_attention }, wallet_id),
  );
  return resultOf(name, 'I6', 'Every rental that ended is taken back in time.', findings);
}
