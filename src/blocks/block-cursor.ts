/**
 * How far solid blocks are read, and which worker has the turn to read on. One row, named after the deposits that it was
 * made for; the only writer of deposit_cursor.
 */
import { Injectable } from '@nestjs/common';
import type { BlockHead } from '../chain/block.js';
import { Database, type Queryable, type Transaction } from '../store/database.js';
import { leaseIsFree } from '../store/lease-sql.js';
import type { WitnessedBlock } from './witnessed-blocks.js';

/** Where nothing was read yet. */
const START = `INSERT INTO deposit_cursor (block_number, block_id, block_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`;

/**
 * What one node said of blocks was enough until now: from here on all is by two. Whoever reads just now has lost the turn,
 * and anybody may take it.
 */
const START_ANEW = `INSERT INTO deposit_cursor (block_number, block_id, block_at) VALUES ($1, $2, $3)
  ON CONFLICT (id) DO UPDATE SET block_number = excluded.block_number, block_id = excluded.block_id,
    block_at = excluded.block_at, fence = deposit_cursor.fence + 1, lease_until = NULL`;

const LEASE_IS_FREE = leaseIsFree('lease_until', '$1');

/** One reader at a time; $1 seconds, $2 the fence of whoever asks, which may go on before its lease has ended. */
const CLAIM = {
  name: 'claim_deposit_cursor',
  text: `UPDATE deposit_cursor SET fence = fence + 1, lease_until = clock_timestamp() + $1 * interval '1 second'
    WHERE ${LEASE_IS_FREE} OR fence = $2
    RETURNING fence, block_number, encode(block_id, 'hex') AS block_id`,
};

/** On to the very next block, whose parent is the one before. Who lost the turn moves nothing. */
const MOVE = {
  name: 'move_deposit_cursor',
  text: `UPDATE deposit_cursor SET block_number = $1, block_id = $2, block_at = $3, read_at = clock_timestamp(),
      lease_until = clock_timestamp() + $6 * interval '1 second', internal_at = CASE WHEN $7 THEN $3 ELSE internal_at END
    WHERE fence = $4 AND block_number = $1::bigint - 1 AND block_id = $5 RETURNING true AS moved`,
};

/** Past blocks that nobody needs to have read. */
const SKIP = {
  name: 'skip_deposit_cursor',
  text: `UPDATE deposit_cursor SET block_number = $1, block_id = $2, block_at = $3, read_at = clock_timestamp()
    WHERE fence = $4 RETURNING true AS moved`,
};

const HOLD = {
  name: 'hold_deposit_cursor',
  text: `SELECT block_number FROM deposit_cursor WHERE fence = $1 FOR NO KEY UPDATE`,
};

/** Beside whoever reads on: what is read and decided there waits meanwhile. */
const TAKE_TURN = {
  name: 'take_deposit_turn',
  text: `SELECT block_number FROM deposit_cursor FOR NO KEY UPDATE`,
};

const READ_TO = { name: 'read_to', text: `SELECT block_number FROM deposit_cursor` };

const LEASE_SEC = 20;

/** The turn to read on from a block. */
export interface Turn {
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

  /** Takes the turn to read, or keeps it; undefined while another worker has it, or nothing was begun. */
  async claim(fence: bigint): Promise<Turn | undefined> {
    const [turn] = await this.database.query<Turn>(CLAIM, [LEASE_SEC, fence]);
    return turn;
  }

  /** Begins after a block, unless it was begun before. */
  async start(head: BlockHead): Promise<void> {
    await this.database.query(START, placeOf(head));
  }

  /** Begins after a block, wherever it was before: for whom blocks count only from here on. */
  async startAnew(tx: Queryable, head: BlockHead): Promise<void> {
    await tx.query(START_ANEW, placeOf(head));
  }

  /** Moves on by this block within its transaction. False when the turn was lost: nothing has changed then. */
  async move(tx: Transaction, block: WitnessedBlock, fence: bigint): Promise<boolean> {
    const params = [...placeOf(block), fence, Buffer.from(block.parentId, 'hex'), LEASE_SEC, block.hasInternal];
    return (await tx.query(MOVE, params)).length > 0;
  }

  /** Leaves the blocks up to `head` unread. */
  async skipTo(head: BlockHead, fence: bigint): Promise<void> {
    await this.database.query(SKIP, [...placeOf(head), fence]);
  }

  /** How far is read, held for the rest of the transaction; undefined when the turn of `fence` is over. */
  async hold(tx: Queryable, fence: bigint): Promise<bigint | undefined> {
    return (await tx.query<HeightRow>(HOLD, [fence]))[0]?.block_number;
  }

  /** How far is read, held for the rest of the transaction, beside whoever reads on. */
  async holdBeside(tx: Queryable): Promise<bigint | undefined> {
    return (await tx.query<HeightRow>(TAKE_TURN))[0]?.block_number;
  }

  /** How far is read; undefined before it was begun. */
  async height(): Promise<bigint | undefined> {
    return (await this.database.query<HeightRow>(READ_TO))[0]?.block_number;
  }
}

function placeOf({ number, id, timestampMs }: BlockHead): unknown[] {
  return [number, Buffer.from(id, 'hex'), new Date(timestampMs)];
}
