/** Builds, records, signs and sends the transactions that legs lack, after the checks of deliveries and reclaims. */
import { Injectable } from '@nestjs/common';
import type { View } from '../follow/chain-view.js';
import { DeliveryCheck } from '../plan/delivery-check.js';
import { OrderTermination } from '../plan/order-termination.js';
import { TransactionSender, type OrderBuild } from '../send/transaction-sender.js';
import type { AdvancePass } from './advance-pass.js';
import { ReclaimChecks } from './reclaim-checks.js';

/** From this attempt of a reclaim on, the order needs attention. A reclaim is never given up. */
const RECLAIM_ATTENTION_ATTEMPT = 3;

@Injectable()
export class MissingTransactions {
  constructor(
    private readonly deliveryCheck: DeliveryCheck,
    private readonly reclaimChecks: ReclaimChecks,
    private readonly orderTermination: OrderTermination,
    private readonly transactionSender: TransactionSender,
  ) {}

  async build(pass: AdvancePass, view: View): Promise<void> {
    const builds = this.reclaimChecks.omitResting(pass, await this.chooseBuilds(pass));
    const covered = await this.reclaimChecks.omitWithheld(pass, builds, view);
    const ready = await this.reclaimChecks.addReadings(pass, covered, view);
    const { stuck, released } = await this.transactionSender.buildAndSend(ready, view);
    for (const order of stuck) pass.runAgain(order);
    for (const order of released) pass.noteReleased(order);
  }

  /** Returns the planned transactions that can succeed. Undoes orders whose delivery cannot. */
  private async chooseBuilds(pass: AdvancePass): Promise<OrderBuild[]> {
    const builds: OrderBuild[] = [];
    const isActivating = pass.planned.some(({ plan }) => plan.build.some(({ purpose }) => purpose === 'activate'));
    const costSun = isActivating ? await this.deliveryCheck.readActivationCost() : undefined;
    for (const { order, plan } of pass.planned) {
      await pass.runForOrder(order, async () => {
        if (plan.build.some((step) => step.purpose === 'reclaim' && step.attempt >= RECLAIM_ATTENTION_ATTEMPT)) {
          await this.orderTermination.callAttention(order);
        }
        for (const step of plan.build) {
          const verdict = await this.deliveryCheck.judgeBuild(order, step, costSun);
          if (verdict === 'build') builds.push({ order, ...step });
          if (verdict !== 'undo') continue;
          // For a running rental this is a top-up. Only its leg is released, and the rental is unchanged.
          if (order.isSettled) await this.orderTermination.releaseLegs(order, [step.leg]);
          else await this.orderTermination.undo(order);
          pass.runAgain(order);
        }
      });
    }
    return builds;
  }
}
