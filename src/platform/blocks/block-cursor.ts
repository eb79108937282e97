/**
 * The block up to which solid blocks are read, and the lease of the worker that reads on. A single row, named after
 * deposits, its first use. The only writer of deposit_cursor.
 */
import { Injectable } from '@nestjs/common';
import type { BlockHead } from '../chain/block.js';
import { Database, type Queryable, type Transaction } from '../database/database.js';
import { leaseIsFree } from '../database/lease-sql.js';
import type { WitnessedBlock } from './witnessed-blocks.js';

/** Only where nothing was read yet. */
const START = `INSERT INTO deposit_cursor (block_number, block_id, block_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`;

/**
 * Up to now one node sufficed; from here on two nodes must agree. The current reader loses its lease, and any worker may
 * take it.
 */
const RESTART = `INSERT INTO deposit_cursor (block_number, block_id, block_at) VALUES ($1, $2, $3)
  ON CONFLICT (id) DO UPDATE SET block_number = excluded.block_number, block_id = excluded.block_id,
    block_at = excluded.block_at, fence = deposit_cursor.fence + 1, lease_until = NULL`;

const LEASE_IS_FREE = leaseIsFree('lease_until', '$1');

/** One reader at a time. $1: seconds, $2: the caller's fence, which may renew its lease before it ends. */
const CLAIM = {
  name: 'claim_deposit_cursor',
  text: `UPDATE deposit_cursor SET fence = fence + 1, lease_until = clock_timestamp() + $1 * interval '1 second'
    WHERE ${LEASE_IS_FREE} OR fence = $2
    RETURNING fence, block_number, encode(block_id, 'hex') AS block_id`,
};

/** Moves to the next block, whose parent must be the current one. A worker that lost the lease moves nothing. */
const MOVE = {
  name: 'move_deposit_cursor',
  text: `UPDATE deposit_cursor SET block_number = $1, block_id = $2, block_at = $3, read_at = clock_timestamp(),
      lease_until = clock_timestamp() + $6 * interval '1 second', internal_at = CASE WHEN $7 THEN $3 ELSE internal_at END
    WHERE fence = $4 AND block_number = $1::bigint - 1 AND block_id = $5 RETURNING true AS moved`,
};

/** Moves past blocks that no consumer needs. */
const SKIP = {
  name: 'skip_deposit_cursor',
  text: `UPDATE deposit_cursor SET block_number = $1, block_id = $2, block_at = $3, read_at = clock_timestamp()
    WHERE fence = $4 RETURNING true AS moved`,
};

const LOCK_UNDER_LEASE = {
  name: 'hold_deposit_cursor',
  text: `SELECT block_number FROM deposit_cursor WHERE fence = $1 FOR NO KEY UPDATE`,
};

/** Locks out the regular reader until the transaction ends. */
const LOCK_WITHOUT_LEASE = {
  name: 'take_deposit_turn',
  text: `SELECT block_number FROM deposit_cursor FOR NO KEY UPDATE`,
};

const READ_TO = { name: 'read_to', text: `SELECT block_number FROM deposit_cursor` };

const LEASE_SEC = 20;

/** The lease to read on from a block. */
export interface CursorLease {
  readonly fence: bigint;
  readonly block_number: bigint;
  readonly block_id: string;
}

interface HeightRow {
  readonly block_number: bigint;
}

@Injectable()
export class BlockCursor {
  constructor(private readonly database: Database) {}

  /** Takes or keeps the lease to read. Undefined while another worker has it, or before reading was begun. */
  async claim(fence: bigint): Promise<CursorLease | undefined> {
    const [lease] = await this.database.query<CursorLease>(CLAIM, [LEASE_SEC, fence]);
    return lease;
  }

  /** Begins after a block, unless reading was begun before. */
  async start(head: BlockHead): Promise<void> {
    await this.database.query(START, placeOf(head));
  }

  /** Begins after a block, regardless of the current position: blocks count only from here on. */
  async restartAt(tx: Queryable, head: BlockHead): Promise<void> {
    await tx.query(RESTART, placeOf(head));
  }

  /** Moves past this block within its transaction. Returns false, without any change, when the lease was lost. */
  async move(tx: Transaction, block: WitnessedBlock, fence: bigint): Promise<boolean> {
    const params = [...placeOf(block), fence, Buffer.from(block.parentId, 'hex'), LEASE_SEC, block.hasInternal];
    return (await tx.query(MOVE, params)).length > 0;
  }

  /** Leaves the blocks up to `head` unread. */
  async skipTo(head: BlockHead, fence: bigint): Promise<void> {
    await this.database.query(SKIP, [...placeOf(head), fence]);
  }

  /**
   * Returns the height read so far and locks it for the rest of the transaction; undefined when the lease of `fence` is
   * over.
   */
  async lockUnderLease(tx: Queryable, fence: bigint): Promise<bigint | undefined> {
    return (await tx.query<HeightRow>(LOCK_UNDER_LEASE, [fence]))[0]?.block_number;
  }

  /** Returns the height read so far and locks it for the rest of the transaction, independently of the lease. */
  async lockWithoutLease(tx: Queryable): Promise<bigint | undefined> {
    return (await tx.query<HeightRow>(LOCK_WITHOUT_LEASE))[0]?.block_number;
  }

  /** Returns the height read so far; undefined before reading was begun. */
  async readHeight(): Promise<bigint | undefined> {
    return (await this.database.query<HeightRow>(READ_TO))[0]?.block_number;
  }
}

function placeOf({ number, id, timestampMs }: BlockHead): unknown[] {
  return [number, Buffer.from(id, 'hex'), new Date(timestampMs)];
}
