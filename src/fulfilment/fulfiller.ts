/**
 * Takes claimed orders one step further: every step of the plan for many orders at once, then back they go. The same
 * code serves a fresh order, a resumed one after a crash, a rental's end and an undone order.
 */
import { Inject, Injectable } from '@nestjs/common';
import { ChainUnavailableError, NodeFault } from '../chain/errors.js';
import { blockOf, placeOf, solidBlockOf, TronClient } from '../chain/tron.client.js';
import { Config } from '../config.js';
import { crashPoint } from '../crash-point.js';
import { Log } from '../http/logger.js';
import type { Energy } from '../money/units.js';
import { sunForEnergy, sunOfOneEnergy } from '../pool/energy-ratio.js';
import { ChainView, type View } from './chain-view.js';
import { Ending } from './ending.js';
import { Inclusion } from './inclusion.js';
import { Outbound, type OrderBuild, type OrderTx } from './outbound.js';
import { energyOf, planFor, type Plan } from './plan.js';
import { Proofs } from './proof.js';
import { TransactionLog } from './transaction-log.js';
import { Work } from './work.js';
import type { WorkOrder } from './work-order.js';

/** Unsent bytes with less validity left than this are dropped and built anew. */
const VALIDITY_LEFT_MIN_MS = 20_000;
/** A state that others move on (solid blocks) is looked at again after this, in case they did not. */
const SAFETY_MS = 60_000;
/** Attempts of a reclaim after which somebody should look; it is never given up. */
const RECLAIM_ATTENTION_ATTEMPT = 3;

interface Planned {
  readonly order: WorkOrder;
  readonly plan: Plan;
}

@Injectable()
export class Fulfiller {
  constructor(
    @Inject(Work) private readonly work: Work,
    @Inject(ChainView) private readonly chainView: ChainView,
    @Inject(Outbound) private readonly outbound: Outbound,
    @Inject(Inclusion) private readonly inclusion: Inclusion,
    @Inject(Proofs) private readonly proofs: Proofs,
    @Inject(Ending) private readonly ending: Ending,
    @Inject(TransactionLog) private readonly transactionLog: TransactionLog,
    @Inject(TronClient) private readonly client: TronClient,
    @Inject(Config) private readonly config: Config,
    @Inject(Log) private readonly logger: Log,
  ) {}

  /** Advances orders that this process has claimed, and gives every one of them back. */
  async advance(orders: readonly WorkOrder[]): Promise<void> {
    if (orders.length === 0) return;
    const view = this.chainView.current;
    const again = new Set<bigint>();
    const planned = orders.map((order) => ({
      order,
      plan: planFor(order, view?.head.timestampMs ?? 0, this.config.worker.unresolvedSec),
    }));
    try {
      await this.endWhatCannotBe(planned, again);
      if (view !== undefined) {
        await this.sendWhatIsRecorded(planned, view, again);
        await this.findWhatWasSent(planned, view, again);
        await this.topUpWhatIsShort(planned, view, again);
        await this.buildWhatIsMissing(planned, view, again);
      }
      await this.setAside(planned.filter(({ order }) => !again.has(order.id)));
    } finally {
      await this.work.release(orders, (order) => (again.has(order.id) ? 0 : this.delayOf(order)));
    }
  }

  private delayOf(order: WorkOrder): number {
    if (order.status === 'delivered' && !order.isSettled) return SAFETY_MS;
    return this.chainView.current === undefined ? 1000 : this.config.worker.resendSec * 1000;
  }

  private async endWhatCannotBe(planned: readonly Planned[], again: Set<bigint>): Promise<void> {
    for (const { order, plan } of planned) {
      if (plan.refund) {
        await this.ending.refund(order);
        continue;
      }
      if (plan.undo) await this.ending.undo(order);
      await this.ending.release(order, plan.release);
      if (plan.undo || plan.release.length > 0) again.add(order.id);
    }
  }

  /** Recorded but never sent: goes on, unless it is too old or not wanted any more. */
  private async sendWhatIsRecorded(planned: readonly Planned[], view: View, again: Set<bigint>): Promise<void> {
    const go: OrderTx[] = [];
    const drop: OrderTx[] = [];
    for (const { order, plan } of planned) {
      const isUnwanted = order.isUndoing || plan.undo;
      for (const step of plan.send) {
        const isStale = step.tx.expiresAtMs < view.head.timestampMs + VALIDITY_LEFT_MIN_MS;
        if (isStale || (isUnwanted && step.tx.purpose !== 'reclaim')) drop.push({ order, ...step });
        else go.push({ order, ...step });
      }
    }
    await this.outbound.drop(drop);
    for (const { order } of drop) again.add(order.id);
    await this.outbound.resume(go);
  }

  private async findWhatWasSent(planned: readonly Planned[], view: View, again: Set<bigint>): Promise<void> {
    const steps = planned.flatMap(({ order, plan }) => plan.find.map((step) => ({ order, ...step })));
    const resend: OrderTx[] = [];
    for (const step of steps) {
      if (await this.lookUp(step, view)) again.add(step.order.id);
      else if (view.solid.timestampMs >= step.tx.expiresAtMs) {
        if (await this.proveDeath(step, view)) again.add(step.order.id);
      } else if (view.head.timestampMs < step.tx.expiresAtMs) resend.push(step);
    }
    await this.outbound.resend(resend);
  }

  /** Whether the transaction was found in a block by its own bytes, and recorded so. */
  private async lookUp(step: OrderTx, view: View): Promise<boolean> {
    crashPoint('lookup.before');
    try {
      const block = await this.client.pool.ask('a transaction', async (node) => {
        const place = await placeOf(node, step.tx.txid);
        return place === undefined ? undefined : await blockOf(node, place.blockNumber);
      });
      crashPoint('lookup.after');
      const found = block?.transactions.some((tx) => tx.txid === step.tx.txid && tx.succeeded) ?? false;
      if (block !== undefined && found) await this.inclusion.apply(block, [step.tx.txid], view.ratio);
      return found;
    } catch (error) {
      if (error instanceof ChainUnavailableError) return false;
      throw error;
    }
  }

  /** Whether the transaction's fate is decided now: dead with proof, or found after all. */
  private async proveDeath(step: OrderTx, view: View): Promise<boolean> {
    const verdict = await this.proofs.judge(step.tx);
    if (verdict.kind === 'dead') {
      const ref = { id: step.tx.id, orderId: step.order.id, fence: step.order.fence };
      await this.transactionLog.recordDead([{ ...ref, evidence: verdict.evidence }]);
      return true;
    }
    if (verdict.kind === 'found') return this.recordFound(step, verdict.blockNumber, view);
    this.logger.debug({ orderId: step.order.id.toString(), why: verdict.why }, 'no proof yet');
    return false;
  }

  private async recordFound(step: OrderTx, blockNumber: number, view: View): Promise<boolean> {
    for (const node of this.client.pool.nodes) {
      try {
        const block = await solidBlockOf(node, blockNumber);
        if (block?.transactions.some((tx) => tx.txid === step.tx.txid && tx.succeeded) !== true) continue;
        await this.inclusion.apply(block, [step.tx.txid], view.ratio);
        return true;
      } catch (error) {
        if (!(error instanceof NodeFault)) throw error;
      }
    }
    return false;
  }

  private async topUpWhatIsShort(planned: readonly Planned[], view: View, again: Set<bigint>): Promise<void> {
    for (const { order, plan } of planned) {
      if (!plan.topUp) continue;
      const missing = ((order.energy ?? 0n) - energyOf(order)) as Energy;
      const amount = sunForEnergy(missing, view.ratio, this.config.pool.marginBps);
      if (!(await this.ending.topUp(order, amount, sunOfOneEnergy(view.ratio)))) await this.ending.undo(order);
      again.add(order.id);
    }
  }

  private async buildWhatIsMissing(planned: readonly Planned[], view: View, again: Set<bigint>): Promise<void> {
    const builds: OrderBuild[] = [];
    for (const { order, plan } of planned) {
      if (plan.build.some((step) => step.purpose === 'reclaim' && step.attempt >= RECLAIM_ATTENTION_ATTEMPT)) {
        await this.ending.callAttention(order);
      }
      for (const step of plan.build) {
        if (step.purpose === 'activate' && step.attempt > 1 && (await this.existsByNow(order))) {
          await this.ending.undo(order);
          again.add(order.id);
        } else builds.push({ order, ...step });
      }
    }
    await this.outbound.launch(builds, view);
  }

  /** Whether somebody else activated the account meanwhile; then a further attempt could only die. */
  private async existsByNow(order: WorkOrder): Promise<boolean> {
    try {
      return (await this.client.account(order.receiver)) !== undefined;
    } catch (error) {
      if (error instanceof ChainUnavailableError) return false;
      throw error;
    }
  }

  /** Orders of which a transaction is neither found nor proven dead for ten minutes: `unresolved`. */
  private async setAside(planned: readonly Planned[]): Promise<void> {
    for (const { order, plan } of planned) {
      const isOverdue = plan.find.some(({ tx }) => tx.ageSec > this.config.worker.unresolvedSec);
      if (!isOverdue) continue;
      if (order.status === 'placed' && !order.isUndoing) await this.ending.markUnresolved(order);
      else if (!order.needsAttention) await this.ending.callAttention(order);
    }
  }
}
