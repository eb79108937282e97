/** Decides sent transactions that no block can include any more: dead with proof, or found after all. */
import { Injectable } from '@nestjs/common';
import { Log } from '../../../platform/observability/logger.js';
import type { View } from '../follow/chain-view.js';
import { FulfilmentEvents } from '../fulfilment-events.js';
import { DeliveryCheck } from '../plan/delivery-check.js';
import { Proofs, type DeathEvidence } from '../send/proof.js';
import { TransactionLog } from '../send/transaction-log.js';
import type { OrderTx } from '../send/transaction-sender.js';
import { WalletHealth } from '../send/wallet-health.js';
import { FoundTransactions } from './found-transactions.js';

/** With fewer blocks during its validity (20 are usual), the chain caused a transaction's death, not its wallet. */
const BLOCKS_MIN = 5;

@Injectable()
export class ExpiredTransactions {
  constructor(
    private readonly proofs: Proofs,
    private readonly transactionLog: TransactionLog,
    private readonly foundTransactions: FoundTransactions,
    private readonly deliveryCheck: DeliveryCheck,
    private readonly walletHealth: WalletHealth,
    private readonly fulfilmentEvents: FulfilmentEvents,
    private readonly log: Log,
  ) {}

  /** Returns true if the transaction's fate is now recorded: dead with proof, or found after all. */
  async decide(step: OrderTx, view: View): Promise<boolean> {
    const verdict = await this.proofs.judge(step.tx);
    if (verdict.kind === 'dead') return this.recordDead(step, verdict.evidence);
    if (verdict.kind === 'found') return this.foundTransactions.recordSolid(step, verdict.blockNumber, view);
    this.log.debug({ orderId: step.order.id.toString(), why: verdict.why }, 'proof of death not available yet');
    return false;
  }

  private async recordDead(step: OrderTx, evidence: DeathEvidence): Promise<boolean> {
    const ref = { id: step.tx.id, orderId: step.order.id, fence: step.order.fence };
    const { txid, purpose, attempt } = step.tx;
    const dead = await this.transactionLog.recordDead([{ ...ref, evidence }]);
    if (dead.size > 0) {
      this.fulfilmentEvents.reportTransactions('dead', [{ order: step.order, txid, purpose, attempt }]);
      if (await this.isFaultOfWallet(step, evidence)) await this.walletHealth.recordDeath(step.leg.walletId);
    } else this.fulfilmentEvents.reportFenceLost('dead', 1);
    return dead.size > 0;
  }

  /**
   * Returns true if a death is evidence against the wallet. The delivery must have reached a node and had enough
   * blocks, and neither an operator nor the receiver caused the death.
   */
  private async isFaultOfWallet({ order, tx }: OrderTx, { scanned }: DeathEvidence): Promise<boolean> {
    if (tx.purpose === 'reclaim' || tx.sends === 0 || order.isUndoing) return false;
    if (scanned.whileValid < BLOCKS_MIN) return false;
    return (await this.deliveryCheck.isSuitable(order, tx.purpose)) === true;
  }
}
