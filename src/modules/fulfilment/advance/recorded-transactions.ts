/** Sends transactions that were recorded but never sent. Drops those too old or no longer wanted. */
import { Injectable } from '@nestjs/common';
import { ChainUnavailableError } from '../../../platform/chain/errors.js';
import { placeOf, TronClient } from '../../../platform/chain/tron.client.js';
import { Log } from '../../../platform/observability/logger.js';
import { forEachConcurrently } from '../../../platform/support/concurrency.js';
import type { View } from '../follow/chain-view.js';
import { isUnwanted } from '../plan/plan.js';
import { TransactionSender, type OrderTx } from '../send/transaction-sender.js';
import type { AdvancePass } from './advance-pass.js';
import { LOOK_UPS_MAX } from './found-transactions.js';
import { ReclaimChecks } from './reclaim-checks.js';

/** Unsent bytes with less validity left are dropped and rebuilt. */
const VALIDITY_LEFT_MIN_MS = 20_000;

@Injectable()
export class RecordedTransactions {
  constructor(
    private readonly client: TronClient,
    private readonly transactionSender: TransactionSender,
    private readonly reclaimChecks: ReclaimChecks,
    private readonly log: Log,
  ) {}

  async send(pass: AdvancePass, view: View | undefined): Promise<void> {
    const go: OrderTx[] = [];
    const drop: OrderTx[] = [];
    for (const { order, plan } of pass.planned) {
      if (pass.failed.has(order.id)) continue;
      for (const step of plan.send) {
        const isStale = view !== undefined && step.tx.expiresAtMs < view.head.timestampMs + VALIDITY_LEFT_MIN_MS;
        if (isStale || isUnwanted(order, plan, step)) drop.push({ order, ...step });
        else if (view !== undefined) go.push({ order, ...step });
      }
    }
    const unseen = await this.findUnseen(drop, view);
    await this.transactionSender.drop(unseen);
    for (const { order } of unseen) pass.runAgain(order);
    const stuck = await this.transactionSender.sendRecorded(await this.reclaimChecks.omitWithheld(pass, go, view));
    for (const order of stuck) pass.runAgain(order);
  }

  /**
   * Returns the steps whose transaction no node has in a block. The record may come from a restored backup, and the
   * bytes may have been sent after it. Signed bytes must expire first. A transaction found in a block is left to the
   * search for unrecorded transactions, which knows its block.
   */
  private async findUnseen(steps: readonly OrderTx[], view: View | undefined): Promise<OrderTx[]> {
    const unseen: OrderTx[] = [];
    await forEachConcurrently(steps, LOOK_UPS_MAX, async (step) => {
      const { tx, order } = step;
      const isOver = view !== undefined && view.head.timestampMs >= tx.expiresAtMs;
      if (tx.status === 'signed' && !isOver && !order.isUndoing) return;
      try {
        if ((await this.client.pool.ask('a transaction', (node) => placeOf(node, tx.txid))) === undefined) {
          unseen.push(step);
        } else
          this.log.error(
            { orderId: order.id.toString(), txid: tx.txid },
            'transaction recorded as never sent found in a block',
          );
      } catch (error) {
        if (!(error instanceof ChainUnavailableError)) throw error;
      }
    });
    return unseen;
  }
}
