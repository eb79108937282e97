/**
 * Simulates the orders of test projects. Claims orders whose next move is due, under lease and fence, and makes each
 * move in one transaction that checks the fence. If a worker dies, its lease expires; a late worker changes nothing.
 * Uses the database's clock only: a test order has no chain and no block.
 */
import { Injectable, type BeforeApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { Repeater } from '../../platform/support/repeat.js';
import { Ledger } from '../billing/ledger.js';
import { messageOf } from '../../domain/errors.js';
import type { OrderKind, OrderStatus } from '../../domain/order-state.js';
import type { Credits } from '../../domain/units.js';
import { Log } from '../../platform/observability/logger.js';
import { Database, type Queryable } from '../../platform/database/database.js';
import { leaseIsFree } from '../../platform/database/lease-sql.js';
import { nextMove, type TestMove } from './test-play.js';

const BATCH = 100;
/** The most that a move can be late on an idle worker. */
const IDLE_MS = 250;
const RETRY_MS = 1000;
/** Ample: a move takes milliseconds. */
const LEASE_SEC = 15;

const LEASE_IS_FREE = leaseIsFree('lease_until', '$1', 'statement_timestamp()');

const CLAIM = {
  name: 'claim_test_orders',
  text: `WITH due AS (
      SELECT id, clock_timestamp() + $1 * interval '1 second' AS until FROM open_orders
       WHERE play_at <= statement_timestamp() AND ${LEASE_IS_FREE}
       ORDER BY play_at LIMIT $2 FOR UPDATE SKIP LOCKED)
    UPDATE open_orders o SET lease_until = due.until, fence = o.fence + 1 FROM due WHERE o.id = due.id
    RETURNING o.id, o.project_id, o.kind, o.status, o.settled, o.receive_address, o.credits, o.fence`,
};

/**
 * $1 order, $2 fence of the claim, $3 seconds until the next move; null if there is none, or if it is due at the
 * rental's end.
 */
const LATER = `statement_timestamp() + $3::integer * interval '1 second'`;
const BY_CLAIM = `lease_until = NULL WHERE id = $1 AND fence = $2 RETURNING id`;

const MOVES: Readonly<Record<TestMove, { readonly name: string; readonly text: string }>> = {
  place: {
    name: 'place_test_order',
    text: `UPDATE open_orders SET status = 'placed', placed_at = statement_timestamp(), play_at = ${LATER}, ${BY_CLAIM}`,
  },
  deliver: {
    name: 'deliver_test_order',
    text: `UPDATE open_orders SET status = 'delivered', delivered_at = statement_timestamp(), delivered_energy = energy,
      ends_at = statement_timestamp() + duration_sec * interval '1 second', needs_attention = false,
      error_code = NULL, error = NULL, play_at = ${LATER}, ${BY_CLAIM}`,
  },
  'set aside': {
    name: 'set_test_order_aside',
    text: `UPDATE open_orders SET status = 'unresolved', needs_attention = true, error_code = 'SUPPLIER_UNKNOWN',
      error = 'Nobody can say yet what became of it, as this test address plays it; this resolves itself.',
      play_at = ${LATER}, ${BY_CLAIM}`,
  },
  refund: {
    name: 'refund_test_order',
    text: `UPDATE open_orders SET status = 'refunded', settled = true, error_code = 'SUPPLIER_REFUSED',
      error = 'It could not be delivered, as this test address plays it; the charge was returned.',
      play_at = ${LATER}, ${BY_CLAIM}`,
  },
  // A rental's next move is at its end, which an extension moves.
  settle: {
    name: 'settle_test_order',
    text: `UPDATE open_orders SET settled = true, play_at = coalesce(${LATER}, ends_at), ${BY_CLAIM}`,
  },
  end: {
    name: 'end_test_order',
    text: `UPDATE open_orders SET reclaimed_at = greatest(statement_timestamp(), ends_at), play_at = ${LATER}, ${BY_CLAIM}`,
  },
};

interface ClaimedRow {
  readonly id: bigint;
  readonly project_id: string;
  readonly kind: OrderKind;
  readonly status: OrderStatus;
  readonly settled: boolean;
  readonly receive_address: string;
  readonly credits: bigint;
  readonly fence: number;
}

@Injectable()
export class TestOrders implements BeforeApplicationShutdown, OnModuleDestroy {
  private readonly repeater: Repeater;

  constructor(
    private readonly database: Database,
    private readonly ledger: Ledger,
    private readonly log: Log,
  ) {
    this.repeater = new Repeater({
      run: async () => ((await this.playDue()) < BATCH ? IDLE_MS : 0),
      retryMs: RETRY_MS,
      onFailure: (error) => {
        log.warn({ fault: messageOf(error) }, 'failed to simulate test orders');
      },
    });
  }

  start(): void {
    void this.repeater.start();
  }

  /** Stops the loop. Nest calls this hook on all modules before it waits for the work of any. */
  onModuleDestroy(): void {
    this.repeater.end();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.repeater.stop();
  }

  /** Makes the next move of each due order. Returns the number of claimed orders. */
  async playDue(): Promise<number> {
    const claimed = await this.database.query<ClaimedRow>(CLAIM, [LEASE_SEC, BATCH]);
    for (const order of claimed) {
      // A failed order is claimed again when its lease ends, and delays no other.
      await this.play(order).catch((error: unknown) => {
        this.log.error({ orderId: order.id.toString(), err: error }, 'failed to simulate a test order');
      });
    }
    return claimed.length;
  }

  private async play(order: ClaimedRow): Promise<void> {
    const { kind, status, settled: isSettled, receive_address: receiver } = order;
    const next = nextMove({ kind, status, isSettled, receiver });
    if (next.move === 'refund') await this.database.transaction(async (tx) => this.refund(tx, order));
    else await this.database.query(MOVES[next.move], [order.id, order.fence, next.thenSec ?? null]);
  }

  private async refund(tx: Queryable, order: ClaimedRow): Promise<void> {
    const moved = await tx.query(MOVES.refund, [order.id, order.fence, null]);
    if (moved.length > 0) await this.ledger.refund(tx, order.id, order.project_id, order.credits as Credits);
  }
}
