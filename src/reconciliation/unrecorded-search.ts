/**
 * Searches solid blocks for acts of our wallets that stand on chain without a record, after a restored backup or behind
 * our back: what is found is recorded in the transaction that moves the search past its block. Waits for nothing that
 * deposits wait for: goes on with one node, and past a block that none can show. Nobody else adds to orphan_tx.
 */
import { Injectable } from '@nestjs/common';
import { monotonicMs, sleep } from '../base/clock.js';
import type { BlockSearch } from '../blocks/block-consumer.js';
import type { Block } from '../chain/block.js';
import type { SolidHeight } from '../chain/solid-height.js';
import { TronClient } from '../chain/tron.client.js';
import { Log } from '../observability/logger.js';
import { Database, type Transaction } from '../store/database.js';
import {
  OWN_WALLETS,
  Signatories,
  unrecordedActsIn,
  type OwnWallet,
  type UnrecordedAct,
} from '../verify/unrecorded-acts.js';
import { BackupRecovery, type Recallable, type Recalled } from './backup-recovery.js';
import { SearchedBlocks } from './searched-blocks.js';

/** Where a service that never searched begins, before the solid head: what it bought before it existed is not ours. */
const FIRST_SEARCH_BLOCKS = 60;
/** Read at once; as JSON a full block is some megabytes. */
const BLOCKS_AT_ONCE = 8;
/** What a pass of the reconciler brings the search on by itself: more than a service's first search. */
const TO_HEAD_BLOCKS_MAX = 100;
/** Whoever reads blocks moves the search at each of them; after so long without one another worker takes over. */
const SEARCHED_ELSEWHERE_MS = 15_000;
/** How long a pass of the reconciler waits for another worker's search to come to the head once more. */
const ELSEWHERE_WAIT_MS = 10_000;
const ELSEWHERE_LOOK_MS = 250;
/** Passes, a minute apart, at which a block that was passed unsearched is tried again; and how many such blocks. */
const UNSEARCHED_TRIES = 60;
const UNSEARCHED_MAX = 100;
const UNSEARCHED_OFFSET = (UNSEARCHED_MAX - 1).toString();

const KEEP = {
  name: 'keep_orphan',
  text: `INSERT INTO orphan_tx (txid, wallet_id, type, by_own_key, receive_address, amount_sun, raw_data, signature,
      block_number, block_id, block_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING RETURNING txid`,
};

const SCANNED_TO = `SELECT scanned_to, server_mark() AS mark FROM reconcile_state`;

/**
 * From where it was read to be, and on the server where it was: whoever searches beside, before or after commits were lost,
 * moves past no block whose acts are not in these records.
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
/** The oldest make way: they were tried most. */
const PASS_UNSEARCHED = `WITH old AS (DELETE FROM unsearched_block WHERE number <= (
    SELECT number FROM unsearched_block ORDER BY number DESC OFFSET ${UNSEARCHED_OFFSET} LIMIT 1))
  INSERT INTO unsearched_block (number) VALUES ($1) ON CONFLICT DO NOTHING`;

/** How far the search is moved by one transaction. */
interface Stretch {
  /** The server by whose records it was searched. */
  readonly mark: string;
  readonly from: number | undefined;
  readonly to: number | undefined;
  /** Time of the last block that was searched in it. */
  readonly at: Date | undefined;
  /** Blocks in it that no node could show. */
  readonly unsearched: readonly number[];
  /** Whether it ends at the solid head. */
  readonly isAtHead: boolean;
}

@Injectable()
export class UnrecordedSearch implements BlockSearch {
  /** One step at a time in this process, whoever asks for it. */
  private last: Promise<unknown> = Promise.resolve();
  private hasTurn = false;
  /** How far it was at the last look, and when that was another worker's doing. */
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
   * Searches the next solid blocks, a few at once. Returns how many are left; undefined when another worker searches.
   * Without the turn to read blocks it searches only while nobody else does. Throws ChainUnavailableError; what was
   * searched by then stays searched.
   */
  async pass(hasTurn: boolean): Promise<number | undefined> {
    this.hasTurn = hasTurn;
    const step = this.last.then(async () => this.step());
    this.last = step.catch(() => undefined);
    return step;
  }

  /**
   * Brings the search to the head of now, or waits until the worker that searches has. Returns how many blocks are
   * left, which are more than were searched here. Throws ChainUnavailableError.
   */
  async toHead(): Promise<number> {
    const [begun] = await this.database.query<{ now: string }>(NOW);
    for (let searched = 0; ; searched += BLOCKS_AT_ONCE) {
      const left = await this.pass(this.hasTurn);
      if (left === undefined) return this.waitForOther(begun?.now);
      if (left === 0 || searched >= TO_HEAD_BLOCKS_MAX) return left;
    }
  }

  /** Blocks that were passed unsearched, by whichever worker; a node may have mended meanwhile. Throws as above. */
  async searchAgain(): Promise<void> {
    const rows = await this.database.query<{ number: bigint; tries: number }>(UNSEARCHED);
    if (rows.length === 0) return;
    const actsIn = await this.judge();
    for (const { number, tries } of rows) {
      const block = await this.blocks.read(Number(number), await this.blocks.height());
      if (block === undefined) {
        await this.database.query(tries + 1 >= UNSEARCHED_TRIES ? SEARCHED : TRIED, [number]);
        continue;
      }
      await this.record(block, await actsIn(block), async (tx) => {
        await tx.query(SEARCHED, [number]);
      });
    }
  }

  private async step(): Promise<number | undefined> {
    const { to: from, mark } = await this.scannedTo();
    if (!this.hasTurn && monotonicMs() - this.movedElsewhereAtMs < SEARCHED_ELSEWHERE_MS) return undefined;
    const height = await this.blocks.height();
    const next = Math.max(0, from ?? height.number - FIRST_SEARCH_BLOCKS) + 1;
    const count = Math.max(0, Math.min(height.number - next + 1, BLOCKS_AT_ONCE));
    const left = Math.max(0, height.number - next + 1 - count);
    try {
      const numbers = Array.from({ length: count }, (_, index) => next + index);
      const rest = await this.searchBlocks({ mark, from }, numbers, height);
      const { to } = rest;
      await this.database.transaction(async (tx) => move(tx, { ...rest, isAtHead: left === 0 }));
      this.seen = { to };
      return left;
    } catch (error) {
      if (error instanceof MovedElsewhereError) return undefined;
      throw error;
    }
  }

  /** Moves the search past each block that holds something of ours. Returns what it has passed since. */
  private async searchBlocks(
    { mark, from }: Pick<Stretch, 'mark' | 'from'>,
    numbers: readonly number[],
    height: SolidHeight,
  ): Promise<Omit<Stretch, 'isAtHead'>> {
    let passed: Omit<Stretch, 'isAtHead'> = { mark, from, to: from, at: undefined, unsearched: [] };
    if (numbers.length === 0) return passed;
    const actsIn = await this.judge();
    const blocks = await Promise.all(numbers.map((number) => this.blocks.read(number, height)));
    // Read side by side, searched in their order: a return is understood only after its delivery.
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
      await this.record(block, acts, async (tx) => move(tx, stretch));
      this.seen = { to: number };
      passed = { mark, from: number, to: number, at: undefined, unsearched: [] };
    }
    return passed;
  }

  /** How far it was searched, and by which server's records; notices where that was not by this process. */
  private async scannedTo(): Promise<{ readonly to: number | undefined; readonly mark: string }> {
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
      await sleep(ELSEWHERE_LOOK_MS);
    }
    const { number } = await this.blocks.height();
    return Math.max(0, number - ((await this.scannedTo()).to ?? 0));
  }

  /** What finds the acts in a block that are to be recorded. */
  private async judge(): Promise<(block: Block) => Promise<readonly UnrecordedAct[]>> {
    const wallets = await this.database.query<OwnWallet>(OWN_WALLETS);
    const signatories = new Signatories(this.database, this.client);
    return async (block) => {
      const acts = await unrecordedActsIn(this.database, signatories, block, wallets);
      await this.blocks.confirm(block, acts);
      return acts;
    };
  }

  /** Records what was found and ends the transaction with `end`: all of it, or nothing. */
  private async record(
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
        else if (await keep(tx, act, block)) kept.push(act);
      }
      await end(tx);
      return { recalled, kept };
    });
    for (const { txid, walletId, byOwnKey, act } of kept) {
      this.log.error(
        { txid, walletId, byOwnKey, type: act.type, receiver: act.receiver, block: block.number },
        'an act of a wallet of ours stands on chain without a record',
      );
    }
    for (const each of recalled) await this.recovery.include(each, block);
  }
}

/** The search is not where this process took it to be. */
class MovedElsewhereError extends Error {}

/** Throws MovedElsewhereError. */
async function move(tx: Transaction, { mark, from, to, at, unsearched, isAtHead }: Stretch): Promise<void> {
  for (const number of unsearched) await tx.query(PASS_UNSEARCHED, [number]);
  const moved = await tx.query(MOVE, [from ?? null, to ?? null, at ?? null, isAtHead, mark]);
  if (moved.length === 0) throw new MovedElsewhereError();
}

/** False when it was kept before. */
async function keep(
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
  ]);
  return kept.length > 0;
}
