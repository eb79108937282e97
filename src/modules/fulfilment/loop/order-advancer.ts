/**
 * Takes claimed orders one step further: each step of the plan for many orders together, then releases them. The same
 * code serves new orders, orders resumed after a crash, ended rentals and orders that are being undone.
 */
import { Injectable } from '@nestjs/common';
import { ChainUnavailableError } from '../../../platform/chain/errors.js';
import { headerOf, placeOf, TronClient } from '../../../platform/chain/tron.client.js';
import { Config } from '../../../platform/config/config.js';
import { Log } from '../../../platform/observability/logger.js';
import type { Energy } from '../../../domain/units.js';
import { DELEGATION_MIN_SUN, sunForEnergy, sunOfOneEnergy, type EnergyRatio } from '../../pool/energy-ratio.js';
import { messageOf } from '../../../domain/errors.js';
import { isDatabaseAway, isLockTimeout } from '../../../platform/database/database.js';
import { DeliveryCheck } from '../plan/delivery-check.js';
import { BlockReader } from '../follow/block-reader.js';
import { ChainView, type View } from '../follow/chain-view.js';
import { OrderTermination } from '../plan/order-termination.js';
import { Inclusion } from '../follow/inclusion.js';
import { forEachConcurrently } from '../../../platform/support/concurrency.js';
import { TransactionSender, type OrderBuild, type OrderTx } from '../send/transaction-sender.js';
import { energyOf, isEnding, planFor, type Plan, type TxStep } from '../plan/plan.js';
import { FulfilmentEvents } from '../fulfilment-events.js';
import { pairKey, ReclaimGuard, type Pair, type Verdict } from '../plan/reclaim-guard.js';
import { reclaimRestMs, withheldRestMs } from '../plan/reclaim-pace.js';
import { ReclaimReadings } from '../plan/reclaim-readings.js';
import { isMadeUpFor, isPastTopUps, topUpFor } from '../plan/running-rentals.js';
import { leftoverOf } from '../plan/usage-losses.js';
import { ExpiredTransactions } from './expired-transactions.js';
import { OrderClaims } from './order-claims.js';
import { tallyOf, type ClaimedLeg, type ClaimedOrder } from './claimed-order.js';

/** Longest time until the next check of a postponed reclaim. */
const CHECK_AGAIN_MS = 30_000;

/** Subject of the node request for a sent transaction. */
export const SENT_TRANSACTION = 'a sent transaction';
/** Unsent bytes with less validity left are dropped and rebuilt. */
const VALIDITY_LEFT_MIN_MS = 20_000;
/** From this attempt of a reclaim on, the order needs attention. A reclaim is never given up. */
const RECLAIM_ATTENTION_ATTEMPT = 3;
/** A delegation still missing this long after its rental's end needs attention. A block takes less time to arrive. */
const SHORT_ATTENTION_MS = 60_000;
/** Concurrent look-ups. A distant node takes 100 ms for each. */
const LOOK_UPS_MAX = 16;
/** Concurrent terminations, each in its own database transaction. */
const TERMINATIONS_MAX = 4;

interface Planned {
  readonly order: ClaimedOrder;
  readonly plan: Plan;
}

/** The state of one pass over claimed orders. */
interface Pass {
  readonly planned: readonly Planned[];
  /** Orders that moved and can move again immediately. */
  readonly runAgain: Set<bigint>;
  /** Orders that failed. The rest of the pass skips them, so that they do not block others. */
  readonly failed: Map<bigint, unknown>;
  /** Verdicts from the chain on the pairs of the planned reclaims. */
  readonly verdicts: Map<string, Verdict>;
  /** Milliseconds until an order's reclaim is worth another check. */
  readonly restMsOf: Map<bigint, number>;
}

/** Order id → the error that its run threw. */
export type Failures = ReadonlyMap<bigint, unknown>;

@Injectable()
export class OrderAdvancer {
  constructor(
    private readonly orderClaims: OrderClaims,
    private readonly deliveryCheck: DeliveryCheck,
    private readonly chainView: ChainView,
    private readonly transactionSender: TransactionSender,
    private readonly blockReader: BlockReader,
    private readonly inclusion: Inclusion,
    private readonly expiredTransactions: ExpiredTransactions,
    private readonly orderTermination: OrderTermination,
    private readonly reclaimGuard: ReclaimGuard,
    private readonly reclaimReadings: ReclaimReadings,
    private readonly fulfilmentEvents: FulfilmentEvents,
    private readonly client: TronClient,
    private readonly config: Config,
    private readonly logger: Log,
  ) {}

  /**
   * Advances orders that this process has claimed, and releases all of them. Returns the orders that failed, with their
   * errors.
   */
  async advance(orders: readonly ClaimedOrder[]): Promise<Failures> {
    const failed = new Map<bigint, unknown>();
    if (orders.length === 0) return failed;
    const view = this.chainView.current;
    const { clockMs } = this.chainView;
    const planned = orders.map((order) => ({
      order,
      plan: planFor(order, clockMs, this.config.worker.unresolvedSec),
    }));
    const pass: Pass = { planned, runAgain: new Set(), failed, verdicts: new Map(), restMsOf: new Map() };
    try {
      await this.endFailedOrders(pass);
      await this.moveUndeliverableLegs(pass, view);
      await this.sendRecordedTransactions(pass, view);
      if (view !== undefined) {
        await this.findSentTransactions(pass, view);
        await this.topUpShortOrders(pass, view);
      }
      // Look-ups may have taken a minute. New transactions refer to the current head and expire by it.
      const now = this.chainView.current;
      if (view !== undefined && now !== undefined && !now.isDisputed) await this.buildMissingTransactions(pass, now);
      await this.markOverdueOrders(pass);
      return failed;
    } finally {
      const released = await this.orderClaims.release(
        orders.map((order) => ({
          order,
          delayMs: pass.runAgain.has(order.id) ? 0 : (pass.restMsOf.get(order.id) ?? this.delayMs),
          isEnding: isEnding(order, clockMs),
        })),
      );
      this.fulfilmentEvents.reportFenceLost('release', orders.length - released);
    }
  }

  /** Returns the delay until the next run of an order still under way. */
  private get delayMs(): number {
    return this.chainView.current === undefined ? 1000 : this.config.worker.resendSec * 1000;
  }

  /** Runs `work` for one order. An error of this order alone is logged, shown to the operator, and ends its pass. */
  private async runForOrder(pass: Pass, order: ClaimedOrder, work: () => Promise<void>): Promise<void> {
    if (pass.failed.has(order.id)) return;
    try {
      await work();
    } catch (error) {
      // Without the database no order can advance.
      if (isDatabaseAway(error)) throw error;
      pass.failed.set(order.id, error);
      const orderId = order.id.toString();
      if (isLockTimeout(error)) {
        this.logger.warn({ orderId, fault: messageOf(error) }, 'order rows locked by another session');
        return;
      }
      this.logger.error({ err: error, orderId }, 'failed to advance an order');
      await this.orderTermination.callAttention(order).catch((err: unknown) => {
        this.logger.warn({ err, orderId }, 'failed to mark an order for attention');
      });
    }
  }

  private async endFailedOrders(pass: Pass): Promise<void> {
    // Run concurrently: an order that waits for a held row then delays only a few others.
    await forEachConcurrently(pass.planned, TERMINATIONS_MAX, async ({ order, plan }) =>
      this.runForOrder(pass, order, async () => {
        if (plan.refund) {
          await this.orderTermination.refund(order, await this.deliveryCheck.findRefundReason(order));
          return;
        }
        if (plan.undo) await this.orderTermination.undo(order);
        await this.orderTermination.releaseLegs(order, plan.release);
        if (plan.undo || plan.release.length > 0) pass.runAgain.add(order.id);
      }),
    );
  }

  /** Moves legs whose wallet cannot deliver to other wallets with capacity; otherwise the legs wait. */
  private async moveUndeliverableLegs(pass: Pass, view: View | undefined): Promise<void> {
    for (const { order, plan } of pass.planned) {
      if (plan.move.length === 0) continue;
      await this.runForOrder(pass, order, async () => {
        const slack = view === undefined ? DELEGATION_MIN_SUN : sunOfOneEnergy(view.ratio);
        if (await this.orderTermination.moveLegs(order, plan.move, slack)) pass.runAgain.add(order.id);
      });
    }
  }

  /** Sends transactions that were recorded but never sent. Drops those too old or no longer wanted. */
  private async sendRecordedTransactions(pass: Pass, view: View | undefined): Promise<void> {
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
    for (const { order } of unseen) pass.runAgain.add(order.id);
    const stuck = await this.transactionSender.sendRecorded(await this.omitWithheld(pass, go, view));
    for (const order of stuck) pass.runAgain.add(order.id);
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
          this.logger.error(
            { orderId: order.id.toString(), txid: tx.txid },
            'transaction recorded as never sent found in a block',
          );
      } catch (error) {
        if (!(error instanceof ChainUnavailableError)) throw error;
      }
    });
    return unseen;
  }

  private async findSentTransactions(pass: Pass, view: View): Promise<void> {
    const steps = pass.planned.flatMap(({ order, plan }) =>
      plan.find.map((step) => ({ order, ...step, isWanted: !isUnwanted(order, plan, step) })),
    );
    const resend: OrderTx[] = [];
    await forEachConcurrently(steps, LOOK_UPS_MAX, async (step) =>
      this.runForOrder(pass, step.order, async () => {
        const found = await this.lookUp(step, view);
        if (found === 'recorded') pass.runAgain.add(step.order.id);
        else if (found === 'held') return;
        else if (view.solid.timestampMs >= step.tx.expiresAtMs) {
          if (await this.expiredTransactions.decide(step, view)) pass.runAgain.add(step.order.id);
        } else if (view.head.timestampMs < step.tx.expiresAtMs && step.isWanted) resend.push(step);
      }),
    );
    await this.transactionSender.resend(await this.omitWithheld(pass, resend, view));
  }

  /**
   * Returns `recorded` if the transaction was found in a block by its own bytes and recorded, or `held` if another
   * session prevented the record.
   */
  private async lookUp(step: OrderTx, view: View): Promise<'recorded' | 'held' | 'absent'> {
    try {
      const block = await this.client.pool.ask(SENT_TRANSACTION, async (node) => {
        const place = await placeOf(node, step.tx.txid);
        const header = place && (await headerOf(node, place.blockNumber));
        return header && (await this.blockReader.read(node, header, 'full', () => Promise.resolve([step.tx.txid])));
      });
      const found = block?.transactions.some((tx) => tx.txid === step.tx.txid && tx.succeeded) ?? false;
      if (block === undefined || !found) return 'absent';
      const { left } = await this.inclusion.includeBlock(block, [step.tx.txid], view.ratio);
      return left.length > 0 ? 'held' : 'recorded';
    } catch (error) {
      if (error instanceof ChainUnavailableError) return 'absent';
      throw error;
    }
  }

  private async topUpShortOrders(pass: Pass, view: View): Promise<void> {
    for (const { order, plan } of pass.planned) {
      if (!view.isDisputed) await this.topUpRunningRental(pass, order, view.ratio);
      if (isPastTopUps(order, view.ratio, this.chainView.clockMs)) {
        await this.runForOrder(pass, order, () => this.orderTermination.postponeTopUps(order));
      }
      if (!plan.topUp) continue;
      await this.runForOrder(pass, order, async () => {
        const missing = ((order.energy ?? 0n) - energyOf(order)) as Energy;
        const amount = sunForEnergy(missing, view.ratio, this.config.pool.marginBps);
        if (!(await this.orderTermination.reserveTopUp(order, amount, sunOfOneEnergy(view.ratio))))
          await this.orderTermination.undo(order);
        pass.runAgain.add(order.id);
      });
    }
  }

  private async topUpRunningRental(pass: Pass, order: ClaimedOrder, ratio: EnergyRatio): Promise<void> {
    // The claimed order does not show the changes of this pass.
    if (pass.runAgain.has(order.id)) return;
    const { clockMs } = this.chainView;
    const needed = topUpFor(order, ratio, clockMs);
    const left = order.usage && leftoverOf(order.usage.reclaims).energy;
    if (needed !== undefined) {
      await this.runForOrder(pass, order, async () => {
        if (await this.deliveryCheck.isFutile(order)) return this.orderTermination.postponeTopUps(order);
        const isReserved = await this.orderTermination.reserveRunningTopUp(order, {
          amountSun: sunForEnergy(needed.energy, ratio, this.config.pool.marginBps),
          slackSun: sunOfOneEnergy(ratio),
          cause: needed.cause,
          left: needed.cause === 'usage' ? left : undefined,
        });
        if (isReserved) pass.runAgain.add(order.id);
      });
    } else if (left !== undefined && isMadeUpFor(order, ratio, clockMs)) {
      await this.runForOrder(pass, order, () => this.orderTermination.recordHarmlessLeftover(order, left));
    }
  }

  private async buildMissingTransactions(pass: Pass, view: View): Promise<void> {
    const builds: OrderBuild[] = [];
    const isActivating = pass.planned.some(({ plan }) => plan.build.some(({ purpose }) => purpose === 'activate'));
    const costSun = isActivating ? await this.deliveryCheck.readActivationCost() : undefined;
    for (const { order, plan } of pass.planned) {
      await this.runForOrder(pass, order, async () => {
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
          pass.runAgain.add(order.id);
        }
      });
    }
    const permitted = await this.omitWithheld(pass, this.omitResting(pass, builds), view);
    const stuck = await this.transactionSender.buildAndSend(await this.addReadings(pass, permitted, view), view);
    for (const order of stuck) pass.runAgain.add(order.id);
  }

  /** Omits reclaims that failed so often that their next attempt is not due yet. */
  private omitResting(pass: Pass, builds: readonly OrderBuild[]): readonly OrderBuild[] {
    return builds.filter(({ order, leg, purpose }) => {
      const restMs = purpose === 'reclaim' ? reclaimRestMs(tallyOf(leg, purpose), this.chainView.movingSec) : 0;
      // Check within 30 s, because a chain that stops and resumes ends the rest.
      if (restMs > 0) restAtMost(pass, order, Math.min(restMs, CHECK_AGAIN_MS));
      return restMs === 0;
    });
  }

  /**
   * Adds the receiver's energy to reclaims if other rentals of the receiver continue. Omits reclaims for which no node
   * has returned it yet.
   */
  private async addReadings(pass: Pass, builds: readonly OrderBuild[], view: View): Promise<readonly OrderBuild[]> {
    const reclaims = builds.filter(({ purpose }) => purpose === 'reclaim');
    const { clockMs } = this.chainView;
    const { read, unread } = await this.reclaimReadings.read(
      reclaims.map(({ order }) => order.receiver),
      view,
      clockMs,
    );
    return builds.flatMap((build) => {
      const { order, purpose } = build;
      if (purpose !== 'reclaim') return [build];
      if (!unread.has(order.receiver)) return [{ ...build, reading: read.get(order.receiver) }];
      if (this.reclaimReadings.isPatienceOver(clockMs - (order.endsAtMs ?? clockMs))) return [build];
      restAtMost(pass, order, this.delayMs);
      return [];
    });
  }

  /** Omits reclaims for which the delegation on chain is too small or unknown. */
  private async omitWithheld<T extends { readonly order: ClaimedOrder; readonly leg: ClaimedLeg }>(
    pass: Pass,
    steps: readonly (T & ({ readonly purpose: string } | { readonly tx: { readonly purpose: string } }))[],
    view: View | undefined,
  ): Promise<T[]> {
    const reclaims = steps.filter((step) => ('tx' in step ? step.tx.purpose : step.purpose) === 'reclaim');
    const pairs = reclaims.map(({ order, leg }) => pairOf(order, leg));
    const unknown = pairs.filter((pair) => !pass.verdicts.has(pairKey(pair)));
    if (view !== undefined) {
      for (const [key, verdict] of await this.reclaimGuard.judge(unknown, view)) pass.verdicts.set(key, verdict);
    }
    const withheld = new Set<unknown>();
    for (const step of reclaims) {
      const verdict = pass.verdicts.get(pairKey(pairOf(step.order, step.leg)));
      if (verdict === 'covered') continue;
      withheld.add(step);
      const lateMs = this.chainView.clockMs - (step.order.endsAtMs ?? this.chainView.clockMs);
      // An unreadable delegation may be there, so it is asked for again soon, however late it is.
      restAtMost(
        pass,
        step.order,
        verdict === 'short' ? Math.min(withheldRestMs(lateMs), CHECK_AGAIN_MS) : this.delayMs,
      );
      if (verdict === 'short' && lateMs > SHORT_ATTENTION_MS) await this.orderTermination.callAttention(step.order);
    }
    return steps.filter((step) => !withheld.has(step));
  }

  /** Marks orders `unresolved` if one of their transactions is neither found nor proven dead after `unresolvedSec`. */
  private async markOverdueOrders(pass: Pass): Promise<void> {
    for (const { order, plan } of pass.planned) {
      const isOverdue = plan.find.some(({ tx }) => tx.ageSec > this.config.worker.unresolvedSec);
      if (!isOverdue || pass.runAgain.has(order.id)) continue;
      await this.runForOrder(pass, order, async () => {
        if (order.status === 'placed' && !order.isUndoing) await this.orderTermination.markUnresolved(order);
        else if (!order.needsAttention) await this.orderTermination.callAttention(order);
      });
    }
  }
}

function pairOf(order: ClaimedOrder, leg: ClaimedLeg): Pair {
  return { walletId: leg.walletId, walletAddress: leg.walletAddress, receiver: order.receiver };
}

function restAtMost(pass: Pass, order: ClaimedOrder, ms: number): void {
  pass.restMsOf.set(order.id, Math.min(ms, pass.restMsOf.get(order.id) ?? ms));
}

/**
 * Returns true for deliveries of an order that is being undone, or of an ended rental. Those possibly on their way are
 * awaited, but not sent again.
 */
function isUnwanted(order: ClaimedOrder, plan: Plan, step: TxStep): boolean {
  return (order.isUndoing || plan.undo || plan.unwanted.has(step.leg)) && step.tx.purpose !== 'reclaim';
}
