/**
 * Simulates the orders of test projects. Claims orders whose next move is due, under lease and fence, and makes each
 * move in one transaction that checks the fence. If a worker dies, its lease expires; a late worker changes nothing.
 * Uses the database's clock only: a test order has no chain and no block.
 */
import { Injectable } from '@nestjs/common';
import { RepeatedTask } from '../../platform/support/repeated-task.js';
import { Ledger } from '../billing/ledger.js';
import { messageOf } from '../../domain/errors.js';
import { credits, type Credits } from '../../domain/units.js';
import { Log } from '../../platform/observability/logger.js';
import { Database, type Queryable } from '../../platform/database/database.js';
import { claimTestOrders, moveTestOrder, type ClaimedTestOrder } from '../order-records/test-order-transitions.js';
import { nextMove } from './test-play.js';

const BATCH = 100;
/** The most that a move can be late on an idle worker. */
const IDLE_MS = 500;
const RETRY_MS = 1000;
/** Ample: a move takes milliseconds. */
const LEASE_SEC = 15;

@Injectable()
export class TestOrders extends RepeatedTask {
  constructor(
    private readonly database: Database,
    private readonly ledger: Ledger,
    private readonly log: Log,
  ) {
    super(RETRY_MS, (error) => {
      log.warn({ fault: messageOf(error) }, 'failed to simulate test orders');
    });
  }

  protected override async runOnce(): Promise<number> {
    return (await this.playDue()) < BATCH ? IDLE_MS : 0;
  }

  /** Makes the next move of each due order. Returns the number of claimed orders. */
  async playDue(): Promise<number> {
    const claimed = await claimTestOrders(this.database, LEASE_SEC, BATCH);
    for (const order of claimed) {
      // A failed order is claimed again when its lease ends, and delays no other.
      await this.play(order).catch((error: unknown) => {
        this.log.error({ orderId: order.id.toString(), err: error }, 'failed to simulate a test order');
      });
    }
    return claimed.length;
  }

  private async play(order: ClaimedTestOrder): Promise<void> {
    const { kind, status, settled: isSettled, receive_address: receiver } = order;
    const next = nextMove({ kind, status, isSettled, receiver });
    if (next.move === 'refund') await this.database.transaction(async (tx) => this.refund(tx, order));
    else await moveTestOrder(this.database, order, next.move, next.thenSec);
  }

  private async refund(tx: Queryable, order: ClaimedTestOrder): Promise<void> {
    if (await moveTestOrder(tx, order, 'refund', undefined))
      await this.ledger.refund(tx, order.id, order.project_id, { credits: order.credits as Credits, kept: credits(0) });
  }
}
