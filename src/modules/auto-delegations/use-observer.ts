/**
 * Marks auto-delegations when their address called a contract: in the blocks that this worker follows at the head, and
 * again in the solid blocks. The solid blocks show uses that were missed at the head, because no worker ran or the block
 * could not be read whole. A block costs one statement over its callers, regardless of the number of auto-delegations.
 */
import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import type { BlockConsumer } from '../../platform/blocks/block-consumer.js';
import type { WitnessedBlock } from '../../platform/blocks/witnessed-blocks.js';
import { addressFromBytes } from '../../platform/chain/address.js';
import type { Block, BlockHead } from '../../platform/chain/block.js';
import { messageOf } from '../../domain/errors.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { Database, type Queryable, type Transaction } from '../../platform/database/database.js';
import { DUE_NOW } from './auto-delegation-claims.js';

/** True if no use of this block or a later one is recorded. */
const UNMARKED = `(a.used_block IS NULL OR a.used_block < $2 OR (a.used_block = $2 AND a.used_block_id <> $3))`;

const DAY = `($4::timestamptz AT TIME ZONE 'UTC')::date`;

/**
 * Adds a use to its UTC day, after a zero for each day without one. It keeps the day of the newest use and the 30 before
 * it (HISTORY_DAYS). A block in place of a reverted one of the same number is not counted again.
 */
const COUNTED = `CASE WHEN a.used_block = $2 AND a.uses_on IS NOT NULL THEN a.daily_uses
          WHEN a.uses_on IS NULL THEN ARRAY[1]
          WHEN a.uses_on >= ${DAY} THEN ARRAY[a.daily_uses[1] + 1] || a.daily_uses[2:]
          ELSE (ARRAY[1] || array_fill(0, ARRAY[least(${DAY} - a.uses_on - 1, 30)]) || a.daily_uses)[1:31] END`;

/**
 * A use ends sleep and makes the row due immediately. A recorded use of this block or a later one is kept, so that
 * concurrent workers mark a use once. The locked row is checked again. Rows locked by another session are left for the
 * next attempt. A running check may hold them, and other sessions lock several rows in other orders.
 */
const MARK = {
  name: 'mark_auto_delegations_used',
  text: `WITH used AS MATERIALIZED (SELECT a.id FROM auto_delegation a WHERE a.address = ANY ($1::text[]) AND ${UNMARKED}),
    held AS (SELECT a.id FROM auto_delegation a JOIN used USING (id) WHERE ${UNMARKED}
      ORDER BY a.id FOR NO KEY UPDATE OF a SKIP LOCKED),
    marked AS (
      UPDATE auto_delegation a SET used_block = $2, used_block_id = $3, used_at = greatest(a.used_at, $4::timestamptz),
          daily_uses = ${COUNTED}, uses_on = greatest(a.uses_on, ${DAY}),
          asleep = false, failures = 0, ${DUE_NOW}
        FROM held WHERE a.id = held.id RETURNING 1)
    SELECT (SELECT count(*) FROM used)::integer AS used, (SELECT count(*) FROM marked)::integer AS marked`,
};

/** Blocks with uses that could not be marked yet. Beyond this number, the solid blocks show them. */
const UNMARKED_MAX = 64;

interface Marked {
  readonly used: number;
  readonly marked: number;
}

interface Uses {
  readonly head: BlockHead;
  readonly callers: readonly string[];
}

@Injectable()
export class UseObserver implements BlockConsumer {
  private readonly unmarked = new Map<string, Uses>();
  private readonly usesCounter: Counter;
  /** Called after auto-delegations were made due. */
  onMarked: () => void = () => undefined;

  constructor(
    private readonly database: Database,
    metrics: Metrics,
    private readonly log: Log,
  ) {
    this.usesCounter = new Counter({
      name: 'auto_delegation_uses_total',
      help: 'Uses of auto-delegated addresses, at most one a block for each.',
      registers: [metrics.registry],
    });
  }

  /** Marks the uses in new blocks of the head, and those that could not be marked before. Never rejects. */
  async observeBlocks(blocks: readonly Block[]): Promise<void> {
    for (const block of blocks) {
      const callers = new Set(block.transactions.flatMap(({ caller }) => caller ?? []));
      if (callers.size > 0) this.unmarked.set(block.id, { head: block, callers: [...callers] });
    }
    for (const id of this.unmarked.keys()) {
      if (this.unmarked.size <= UNMARKED_MAX) break;
      this.unmarked.delete(id);
    }
    for (const [id, uses] of this.unmarked) {
      try {
        const { used, marked } = await this.mark(this.database, uses);
        if (used === marked) this.unmarked.delete(id);
        if (marked > 0) this.onMarked();
      } catch (error) {
        this.log.warn(
          { fault: messageOf(error), block: uses.head.number },
          'failed to record uses of a block; will retry',
        );
        return;
      }
    }
  }

  /** Does not wait for rows locked by another session: that session marked them, or the next use will. */
  async consumeBlock(tx: Transaction, block: WitnessedBlock): Promise<() => void> {
    if (block.callers.length === 0) return () => undefined;
    const { marked } = await this.mark(tx, { head: block, callers: block.callers });
    return () => {
      if (marked > 0) this.onMarked();
    };
  }

  private async mark(queryable: Queryable, { head, callers }: Uses): Promise<Marked> {
    const addresses = callers.map((hex) => addressFromBytes(Buffer.from(hex, 'hex')));
    const id = Buffer.from(head.id, 'hex');
    const params = [addresses, head.number, id, new Date(head.timestampMs)];
    const [counts = { used: 0, marked: 0 }] = await queryable.query<Marked>(MARK, params);
    this.usesCounter.inc(counts.marked);
    return counts;
  }
}
