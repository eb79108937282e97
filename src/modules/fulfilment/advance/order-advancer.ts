/**
 * Takes claimed orders one step further: each step of the plan for many orders together, then releases them. The same
 * code serves new orders, orders resumed after a crash, ended rentals and orders that are being undone.
 */
import { Injectable } from '@nestjs/common';
import { ChainView } from '../follow/chain-view.js';
import type { ClaimedOrder } from '../loop/claimed-order.js';
import { OrderClaims } from '../loop/order-claims.js';
import type { Failures } from './advance-pass.js';
import { MissingTransactions } from './missing-transactions.js';
import { PassPlanner } from './pass-planner.js';
import { RecordedTransactions } from './recorded-transactions.js';
import { SentTransactions } from './sent-transactions.js';
import { TopUps } from './top-ups.js';
import { UndeliveredOrders } from './undelivered-orders.js';

@Injectable()
export class OrderAdvancer {
  constructor(
    private readonly chainView: ChainView,
    private readonly passPlanner: PassPlanner,
    private readonly undeliveredOrders: UndeliveredOrders,
    private readonly recordedTransactions: RecordedTransactions,
    private readonly sentTransactions: SentTransactions,
    private readonly topUps: TopUps,
    private readonly missingTransactions: MissingTransactions,
    private readonly orderClaims: OrderClaims,
  ) {}

  /**
   * Advances orders that this process has claimed, and releases all of them. Returns the orders that failed, with their
   * errors.
   */
  async advance(orders: readonly ClaimedOrder[]): Promise<Failures> {
    if (orders.length === 0) return new Map();
    const view = this.chainView.current;
    const pass = this.passPlanner.plan(orders);
    try {
      await this.undeliveredOrders.end(pass);
      await this.undeliveredOrders.moveLegs(pass, view);
      await this.recordedTransactions.send(pass, view);
      if (view !== undefined) {
        await this.sentTransactions.find(pass, view);
        await this.topUps.reserve(pass, view);
      }
      // Look-ups may have taken a minute. New transactions refer to the current head and expire by it.
      const now = this.chainView.current;
      if (view !== undefined && now !== undefined && !now.isDisputed) await this.missingTransactions.build(pass, now);
      await this.undeliveredOrders.markOverdue(pass);
      return pass.failed;
    } finally {
      await this.orderClaims.release(pass.toRelease());
    }
  }
}
