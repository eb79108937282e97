/** Finds sent transactions in blocks, proves expired ones dead, and sends the others again. */
import { Injectable } from '@nestjs/common';
import { forEachConcurrently } from '../../../platform/support/concurrency.js';
import type { View } from '../follow/chain-view.js';
import { isUnwanted } from '../plan/plan.js';
import { TransactionSender, type OrderTx } from '../send/transaction-sender.js';
import type { AdvancePass } from './advance-pass.js';
import { ExpiredTransactions } from './expired-transactions.js';
import { FoundTransactions, LOOK_UPS_MAX } from './found-transactions.js';
import { ReclaimChecks } from './reclaim-checks.js';

@Injectable()
export class SentTransactions {
  constructor(
    private readonly foundTransactions: FoundTransactions,
    private readonly expiredTransactions: ExpiredTransactions,
    private readonly transactionSender: TransactionSender,
    private readonly reclaimChecks: ReclaimChecks,
  ) {}

  async find(pass: AdvancePass, view: View): Promise<void> {
    const steps = pass.planned.flatMap(({ order, plan }) =>
      plan.find.map((step) => ({ order, ...step, isWanted: !isUnwanted(order, plan, step) })),
    );
    const resend: OrderTx[] = [];
    await forEachConcurrently(steps, LOOK_UPS_MAX, async (step) =>
      pass.runForOrder(step.order, async () => {
        const found = await this.foundTransactions.lookUp(step, view);
        if (found === 'recorded') pass.runAgain(step.order);
        else if (found === 'held') return;
        else if (view.solid.timestampMs >= step.tx.expiresAtMs) {
          if (await this.expiredTransactions.decide(step, view)) pass.runAgain(step.order);
        } else if (view.head.timestampMs < step.tx.expiresAtMs && step.isWanted) resend.push(step);
      }),
    );
    await this.transactionSender.resend(await this.reclaimChecks.omitWithheld(pass, resend, view));
  }
}
