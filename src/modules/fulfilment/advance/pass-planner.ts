/** Plans the next steps of claimed orders, and reports the orders that fail in the pass. */
import { Injectable } from '@nestjs/common';
import { messageOf } from '../../../domain/errors.js';
import { Config } from '../../../platform/config/config.js';
import { isLockTimeout } from '../../../platform/database/database.js';
import { Log } from '../../../platform/observability/logger.js';
import { ChainView } from '../follow/chain-view.js';
import type { ClaimedOrder } from '../loop/claimed-order.js';
import { OrderTermination } from '../plan/order-termination.js';
import { planFor } from '../plan/plan.js';
import { AdvancePass } from './advance-pass.js';

/** Delay until the next run while the chain cannot be read. */
const BLIND_DELAY_MS = 1000;

@Injectable()
export class PassPlanner {
  constructor(
    private readonly chainView: ChainView,
    private readonly orderTermination: OrderTermination,
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  plan(orders: readonly ClaimedOrder[]): AdvancePass {
    const { clockMs } = this.chainView;
    const { unresolvedSec, resendSec } = this.config.worker;
    return new AdvancePass(
      orders.map((order) => ({ order, plan: planFor(order, clockMs, unresolvedSec) })),
      {
        clockMs,
        delayMs: () => (this.chainView.current === undefined ? BLIND_DELAY_MS : resendSec * 1000),
        reportFailure: (order, error) => this.reportFailure(order, error),
      },
    );
  }

  private async reportFailure(order: ClaimedOrder, error: unknown): Promise<void> {
    const orderId = order.id.toString();
    if (isLockTimeout(error)) {
      this.log.warn({ orderId, fault: messageOf(error) }, 'order rows locked by another session');
      return;
    }
    this.log.error({ err: error, orderId }, 'failed to advance an order');
    await this.orderTermination.callAttention(order).catch((err: unknown) => {
      this.log.warn({ err, orderId }, 'failed to mark an order for attention');
    });
  }
}
