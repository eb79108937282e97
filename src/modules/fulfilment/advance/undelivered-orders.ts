/** Ends, moves or marks orders that are not delivered, as their plans say. */
import { Injectable } from '@nestjs/common';
import { Config } from '../../../platform/config/config.js';
import { forEachConcurrently } from '../../../platform/support/concurrency.js';
import type { LegKind } from '../../../domain/order-state.js';
import { legSlackSun } from '../../pool/bandwidth-stake.js';
import { DELEGATION_MIN_SUN } from '../../pool/energy-ratio.js';
import type { View } from '../follow/chain-view.js';
import { DeliveryCheck } from '../plan/delivery-check.js';
import { OrderTermination } from '../plan/order-termination.js';
import type { AdvancePass } from './advance-pass.js';

/** Concurrent terminations, each in its own database transaction. */
const TERMINATIONS_MAX = 4;

@Injectable()
export class UndeliveredOrders {
  constructor(
    private readonly orderTermination: OrderTermination,
    private readonly deliveryCheck: DeliveryCheck,
    private readonly config: Config,
  ) {}

  /** Refunds, undoes or releases orders and legs that can no longer deliver. */
  async end(pass: AdvancePass): Promise<void> {
    // Run concurrently: an order that waits for a held row then delays only a few others.
    await forEachConcurrently(pass.planned, TERMINATIONS_MAX, async ({ order, plan }) =>
      pass.runForOrder(order, async () => {
        if (plan.refund) {
          await this.orderTermination.refund(order, await this.deliveryCheck.findRefundReason(order));
          return;
        }
        if (plan.undo) await this.orderTermination.undo(order);
        await this.orderTermination.releaseLegs(order, plan.release);
        if (plan.undo || plan.release.length > 0) pass.runAgain(order);
      }),
    );
  }

  /** Moves legs whose wallet cannot deliver to other wallets with capacity; otherwise the legs wait. */
  async moveLegs(pass: AdvancePass, view: View | undefined): Promise<void> {
    for (const { order, plan } of pass.planned) {
      if (plan.move.length === 0) continue;
      await pass.runForOrder(order, async () => {
        const slackSunOf = (kind: LegKind) => (view === undefined ? DELEGATION_MIN_SUN : legSlackSun(kind, view.ratio));
        if (await this.orderTermination.moveLegs(order, plan.move, slackSunOf)) pass.runAgain(order);
      });
    }
  }

  /** Marks orders `unresolved` if one of their transactions is neither found nor proven dead after `unresolvedSec`. */
  async markOverdue(pass: AdvancePass): Promise<void> {
    for (const { order, plan } of pass.planned) {
      const isOverdue = plan.find.some(({ tx }) => tx.ageSec > this.config.worker.unresolvedSec);
      if (!isOverdue || pass.hasMoved(order)) continue;
      await pass.runForOrder(order, async () => {
        if (order.status === 'placed' && !order.isUndoing) await this.orderTermination.markUnresolved(order);
        else if (!order.needsAttention) await this.orderTermination.callAttention(order);
      });
    }
  }
}
