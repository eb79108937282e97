/**
 * Searches solid blocks for acts of our wallets without a record, left by a restored backup or made by a foreign
 * signer. Findings are recorded in the transaction that moves the search past their block. The search does not wait for
 * deposits: it continues with one node, and past a block that none can show. The only writer that adds to orphan_tx.
 */
import { Injectable } from '@nestjs/common';
import { monotonicMs, sleep } from '../../platform/support/clock.js';
import type { BlockSearch } from '../../platform/blocks/block-consumer.js';
import type { Block } from '../../platform/chain/block.js';
import type { SolidHeight } from '../../platform/chain/solid-height.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Log } from '../../platform/observability/logger.js';
import { Database, type Transaction } from '../../platform/database/database.js';
import {
  OWN_WALLETS,
  Signatories,
  unrecordedActsIn,
  type OwnWallet,
  type UnrecordedAct,
} from '../verify/unrecorded-acts.js';
import { BackupRecovery, type Recallable, type Recalled } from './backup-recovery.js';
import { SearchedBlocks } from './searched-blocks.js';

/** Blocks before the solid head at which a new service begins its search. Older acts cannot be its own. */
const FIRST_SEARCH_BLOCKS = 60;
/** Read in parallel; as JSON a full block has some megabytes. */
const CONCURRENT_BLOCKS = 8;
/** Maximum number of blocks that one pass of the reconciler searches: more than a new service's first search. */
const TO_HEAD_BLOCKS_MAX = 100;
/**
 * A process that reads blocks moves the search at each of them. After this time without a move another worker takes
 * over.
 */
const SEARCHED_ELSEWHERE_MS = 15_000;
/** Time that a pass of the reconciler waits for another worker's search to reach the head again. */
const ELSEWHERE_WAIT_MS = 10_000;
const ELSEWHERE_CHECK_MS = 250;
/** Attempts for an unsearched block, at passes a minute apart, and the maximum number of such blocks. */
const UNSEARCHED_TRIES = 60;
const UNSEARCHED_MAX = 100;
const UNSEARCHED_OFFSET = (UNSEARCHED_MAX - 1).toString();

const KEEP = {
  name: 'keep_orphan',
  text: `INSERT INTO orphan_tx (txid, wallet_id, type, by_own_key, receive_address, amount_sun, raw_data, signature,
      block_number, block_id, block_at, resource)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING RETURNING txid`,
};

const SCANNED_TO = `SELECT scanned_to, server_mark() AS mark FROM reconcile_state`;

/**
 * Moves only from the position that was read, and on the server where it was read. Concurrent searches, and searches
 * around lost commits, therefore pass no block whose acts are missing in these records.
 */
const MOVE = {
  name: 'move_search',
  text: `UPDATE reconcile_state SET scanned_to = $2, scanned_at = coalesce($3, scanned_at),
      searched_at = CASE WHEN $4 THEN clock_timestamp() ELSE searched_at END
    WHERE scanned_to IS NOT DISTINCT FROM $1 AND server_mark() = $5 RETURNING true AS moved`,
};

const NOW = `SELECT clock_timestamp()::text AS now`;
const SEARCHED_SINCE = `SELECT FROM reconcile_state WHERE searched_at > $1::timestamptz`;

const UNSEARCHED = `SELECT number, tries FROM unsearched_block ORDER BY number`;
const SEARCHED = `DELETE FROM unsearched_block WHERE number = $1`;
const TRIED = `UPDATE unsearched_block SET tries = tries + 1 WHERE number = $1`;
/** Evicts the oldest entries, which were tried most often. */
const PASS_UNSEARCHED = `WITH old AS (DELETE FROM unsearched_block WHERE number <= (
    SELECT number FROM unsearched_block ORDER BY number DESC OFFSET ${UNSEARCHED_OFFSET} LIMIT 1))
  INSERT INTO unsearched_block (number) VALUES ($1) ON CONFLICT DO NOTHING`;

/** The blocks by which one transaction moves the search. */
interface Stretch {
  /** Mark of the server whose records were compared. */
  readonly mark: string;
  readonly from: number | undefined;
  readonly to: number | undefined;
  /** Time of the last block that was searched in it. */
  readonly at: Date | undefined;
  /** Blocks in it that no node could show. */
  readonly unsearched: readonly number[];
  /** True if it ends at the solid head. */
  readonly isAtHead: boolean;
}

@Injectable()
export class UnrecordedSearch implements BlockSearch {
  /** Serializes the steps in this process. */
  private last: Promise<unknown> = Promise.resolve();
  private hasLease = false;
  /** Position at the last read, and when another worker last moved it. */
  private seen: { readonly to: number | undefined } | undefined;
  private movedElsewhereAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    private readonly blocks: SearchedBlocks,
    private readonly recovery: BackupRecovery,
    private readonly log: Log,
  ) {}

  /**
   * Searches the next solid blocks, a few in parallel. Returns how many are left, or undefined if another worker
   * searches. Without the lease to read blocks it searches only while no other worker does. Throws
   * ChainUnavailableError; blocks that were searched before the error stay searched.
   */
  async searchNext(hasLease: boolean): Promise<number | undefined> {
    this.hasLease = hasLease;
    const step = this.last.then(async () => this.runStep());
    this.last = step.catch(() => undefined);
    return step;
  }

  /**
   * Advances the search to the present head, or waits until the searching worker has. Returns how many blocks are left;
   * 0 at the head. Throws ChainUnavailableError.
   */
  async searchToHead(): Promise<number> {
    const [begun] = await this.database.query<{ now: string }>(NOW);
    for (let searched = 0; ; searched += CONCURRENT_BLOCKS) {
      const left = await this.searchNext(this.hasLease);
      if (left === undefined) return this.waitForOther(begun?.now);
      if (left === 0 || searched >= TO_HEAD_BLOCKS_MAX) return left;
    }
  }

  /**
   * Retries blocks that any worker passed unsearched, since a node may have recovered. Throws ChainUnavailableError.
   */
  async retryUnsearched(): Promise<void> {
    const rows = await this.database.query<{ number: bigint; tries: number }>(UNSEARCHED);
    if (rows.length === 0) return;
    const actsIn = await this.newActFinder();
    for (const { number, tries } of rows) {
      const block = await this.blocks.read(Number(number), await this.blocks.searchableHeight());
      if (block === undefined) {
        await this.database.query(tries + 1 >= UNSEARCHED_TRIES ? SEARCHED : TRIED, [number]);
        continue;
      }
      await this.recordActs(block, await actsIn(block), async (tx) => {
        await tx.query(SEARCHED, [number]);
      });
    }
  }

  private async runStep(): Promise<number | undefined> {
    const { to: from, mark } = await this.readPosition();
    if (!this.hasLease && monotonicMs() - this.movedElsewhereAtMs < SEARCHED_ELSEWHERE_MS) return undefined;
    const height = await this.blocks.searchableHeight();
    const next = Math.max(0, from ?? height.number - FIRST_SEARCH_BLOCKS) + 1;
    const count = Math.max(0, Math.min(height.number - next + 1, CONCURRENT_BLOCKS));
    const left = Math.max(0, height.number - next + 1 - count);
    try {
      const numbers = Array.from({ length: count }, (_, index) => next + index);
      const rest = await this.searchBlocks({ mark, from }, numbers, height);
      const { to } = rest;
      await this.database.transaction(async (tx) => movePosition(tx, { ...rest, isAtHead: left === 0 }));
      this.seen = { to };
      return left;
    } catch (error) {
      if (error instanceof MovedElsewhereError) return undefined;
      throw error;
    }
  }

  /**
   * Records the acts of each block that has any, together with the move past it. Returns the stretch passed since the
   * last one.
   */
  private async searchBlocks(
    { mark, from }: Pick<Stretch, 'mark' | 'from'>,
    numbers: readonly number[],
    height: SolidHeight,
  ): Promise<Omit<Stretch, 'isAtHead'>> {
    let passed: Omit<Stretch, 'isAtHead'> = { mark, from, to: from, at: undefined, unsearched: [] };
    if (numbers.length === 0) return passed;
    const actsIn = await this.newActFinder();
    const blocks = await Promise.all(numbers.map((number) => this.blocks.read(number, height)));
    // The blocks were read in parallel but are searched in order: a reclaim matches only after its delivery.
    for (const [index, number] of numbers.entries()) {
      const block = blocks[index];
      if (block === undefined) {
        passed = { ...passed, to: number, unsearched: [...passed.unsearched, number] };
        continue;
      }
      passed = { ...passed, to: number, at: new Date(block.timestampMs) };
      const acts = await actsIn(block);
      if (acts.length === 0) continue;
      const stretch = { ...passed, isAtHead: false };
      await this.recordActs(block, acts, async (tx) => movePosition(tx, stretch));
      this.seen = { to: number };
      passed = { mark, from: number, to: number, at: undefined, unsearched: [] };
    }
    return passed;
  }

  /** Returns the position and the mark of the server that holds it. Notices a move by another process. */
  private async readPosition(): Promise<{ readonly to: number | undefined; readonly mark: string }> {
    const [row] = await this.database.query<{ scanned_to: bigint | null; mark: string }>(SCANNED_TO);
    if (row === undefined) throw new Error('the row of reconcile_state is missing');
    const to = row.scanned_to === null ? undefined : Number(row.scanned_to);
    if (this.seen !== undefined && this.seen.to !== to) this.movedElsewhereAtMs = monotonicMs();
    this.seen = { to };
    return { to, mark: row.mark };
  }

  private async waitForOther(since: string | undefined): Promise<number> {
    const endsAtMs = monotonicMs() + ELSEWHERE_WAIT_MS;
    while (monotonicMs() < endsAtMs) {
      if ((await this.database.query(SEARCHED_SINCE, [since])).length > 0) return 0;
      await sleep(ELSEWHERE_CHECK_MS);
    }
    const { number } = await this.blocks.searchableHeight();
    return Math.max(0, number - ((await this.readPosition()).to ?? 0));
  }

  /** Returns a function that finds the acts to record in a block. */
  private async newActFinder(): Promise<(block: Block) => Promise<readonly UnrecordedAct[]>> {
    const wallets = await this.database.query<OwnWallet>(OWN_WALLETS);
    const signatories = new Signatories(this.database, this.client);
    return async (block) => {
      const acts = await unrecordedActsIn(this.database, signatories, block, wallets);
      await this.blocks.confirm(block, acts);
      return acts;
    };
  }

  /** Records the acts and runs `end` in one transaction. */
  private async recordActs(
    block: Block,
    acts: readonly UnrecordedAct[],
    end: (tx: Transaction) => Promise<void>,
  ): Promise<void> {
    const found: { readonly act: UnrecordedAct; readonly recallable: Recallable | undefined }[] = [];
    for (const act of acts) found.push({ act, recallable: await this.recovery.prepare(act, block) });
    const { recalled, kept } = await this.database.transaction(async (tx) => {
      const recalled: Recalled[] = [];
      const kept: UnrecordedAct[] = [];
      for (const { act, recallable } of found) {
        const order = recallable && (await this.recovery.recall(tx, recallable, block));
        if (order !== undefined) recalled.push(order);
        else if (await insertAct(tx, act, block)) kept.push(act);
      }
      await end(tx);
      return { recalled, kept };
    });
    for (const { txid, walletId, byOwnKey, act } of kept) {
      this.log.error(
        { txid, walletId, byOwnKey, type: act.type, receiver: act.receiver, block: block.number },
        'found an unrecorded transaction of a pool wallet',
      );
    }
    for (const each of recalled) await this.recovery.include(each, block);
  }
}

/** Thrown if the position is no longer the one that this process read. */
class MovedElsewhereError extends Error {}

/** Throws MovedElsewhereError. */
async function movePosition(tx: Transaction, { mark, from, to, at, unsearched, isAtHead }: Stretch): Promise<void> {
  for (const number of unsearched) await tx.query(PASS_UNSEARCHED, [number]);
  const moved = await tx.query(MOVE, [from ?? null, to ?? null, at ?? null, isAtHead, mark]);
  if (moved.length === 0) throw new MovedElsewhereError();
}

/** Returns false if the act was recorded before. */
async function insertAct(
  tx: Transaction,
  { txid, rawData, signature, walletId, byOwnKey, act }: UnrecordedAct,
  block: Block,
): Promise<boolean> {
  const kept = await tx.query(KEEP, [
    Buffer.from(txid, 'hex'),
    walletId,
    act.type,
    byOwnKey,
    act.receiver ?? null,
    act.amountSun ?? null,
    rawData,
    signature ?? null,
    block.number,
    Buffer.from(block.id, 'hex'),
    new Date(block.timestampMs),
    act.resource ?? null,
  ]);
  return kept.length > 0;
}
