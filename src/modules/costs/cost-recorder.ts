/**
 * Records the fee that each chain transaction burnt, from the receipt in its solid block. Normally this happens when
 * the block is read. Rows missed then (settled later, found later, or locked by another session) are looked up by their
 * receipts.
 */
import { Injectable } from '@nestjs/common';
import { Counter, Gauge } from 'prom-client';
import { forEachConcurrently } from '../../platform/support/concurrency.js';
import type { BlockConsumer } from '../../platform/blocks/block-consumer.js';
import type { WitnessedBlock } from '../../platform/blocks/witnessed-blocks.js';
import { solidPlaceOf, TronClient } from '../../platform/chain/tron.client.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { Database, type Queryable, type Transaction } from '../../platform/database/database.js';
import { recordFees, type ReceiptFee, type RecordedFee } from '../order-records/block-transitions.js';

/** $1: id after which to continue. Rotation keeps a receipt that no node has or answers for from blocking the others. */
const MISSING = {
  name: 'missing_costs',
  text: `SELECT id, encode(txid, 'hex') AS txid, block_number FROM open_chain_tx
    WHERE stage = 'uncosted' AND fee_sun IS NULL AND id > $1 AND block_number <= $2 ORDER BY id LIMIT $3`,
};

const COUNT_MISSING = {
  name: 'count_missing_costs',
  text: `SELECT count(*)::integer AS count FROM (
    SELECT FROM open_chain_tx WHERE stage = 'uncosted' AND block_number <= $1 LIMIT $2) missing`,
};

const WALLETS = { name: 'wallets_with_costs', text: `SELECT address FROM pool_wallet` };

/** Look-ups per round. After an upgrade there may be a long history, and nodes have more urgent requests. */
const LOOK_UPS = 10;
const CONCURRENT_LOOK_UPS = 4;
const COUNTED_MAX = 1000;

interface Missing {
  readonly id: bigint;
  readonly txid: string;
  readonly block_number: bigint;
}

@Injectable()
export class CostRecorder implements BlockConsumer {
  private wallets: ReadonlySet<string> = new Set();
  private readonly burnt: Counter<'purpose' | 'wallet'>;
  private readonly missing: Gauge;
  private afterId = 0n;

  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    metrics: Metrics,
  ) {
    this.burnt = new Counter({
      name: 'chain_cost_sun_total',
      help: 'Sun burnt by our transactions, by `purpose` and `wallet`.',
      labelNames: ['purpose', 'wallet'] as const,
      registers: [metrics.registry],
    });
    this.missing = new Gauge({
      name: 'chain_costs_missing',
      help: 'Final transactions without a cost, at most 1000; 0 in workers that read no blocks.',
      registers: [metrics.registry],
    });
  }

  async loadWatched(): Promise<void> {
    const rows = await this.database.query<{ address: string }>(WALLETS);
    this.wallets = new Set(rows.map(({ address }) => address));
  }

  watchesCosts(address: string): boolean {
    return this.wallets.has(address);
  }

  async consumeBlock(tx: Transaction, { number, costs }: WitnessedBlock): Promise<() => void> {
    const recorded = await record(
      tx,
      number,
      costs.map(({ txid, amount }) => ({ txid, feeSun: amount })),
    );
    return () => {
      this.count(recorded);
    };
  }

  loseLease(): void {
    this.missing.set(0);
  }

  /** Reads missing receipts, a few per call. Throws ChainUnavailableError. */
  async workBetweenBlocks(_fence: bigint, solid: number): Promise<void> {
    const rows = await this.database.query<Missing>(MISSING, [this.afterId, solid, LOOK_UPS]);
    const faults: unknown[] = [];
    await forEachConcurrently(rows, CONCURRENT_LOOK_UPS, async (row) => {
      await this.lookUp(row).catch((error: unknown) => faults.push(error));
    });
    this.afterId = rows.length < LOOK_UPS ? 0n : (rows.at(-1)?.id ?? 0n);
    const [row] = await this.database.query<{ count: number }>(COUNT_MISSING, [solid, COUNTED_MAX]);
    this.missing.set(row?.count ?? 0);
    if (faults.length > 0) throw faults[0];
  }

  private async lookUp({ txid, block_number: block }: Missing): Promise<void> {
    const place = await this.client.pool.ask('a final transaction', (node) => solidPlaceOf(node, txid));
    if (place?.blockNumber !== Number(block)) return;
    this.count(await record(this.database, place.blockNumber, [{ txid, feeSun: place.feeSun }]));
  }

  private count(costs: readonly RecordedFee[]): void {
    for (const { purpose, wallet, fee_sun: feeSun } of costs) this.burnt.inc({ purpose, wallet }, Number(feeSun));
  }
}

async function record(queryable: Queryable, block: number, fees: readonly ReceiptFee[]): Promise<RecordedFee[]> {
  return fees.length === 0 ? [] : recordFees(queryable, block, fees);
}
