/** Omits reclaims that must wait: failed too often, not covered on chain, or without the receiver's energy. */
import { Injectable } from '@nestjs/common';
import { resourceOf } from '../../../domain/resource.js';
import { ChainView, type View } from '../follow/chain-view.js';
import { tallyOf, type ClaimedLeg, type ClaimedOrder } from '../loop/claimed-order.js';
import { OrderTermination } from '../plan/order-termination.js';
import { pairKey, ReclaimGuard, type Pair } from '../plan/reclaim-guard.js';
import { reclaimRestMs, withheldRestMs } from '../plan/reclaim-pace.js';
import { ReclaimReadings } from '../plan/reclaim-readings.js';
import type { OrderBuild } from '../send/transaction-sender.js';
import type { AdvancePass } from './advance-pass.js';

/** Longest time until the next check of a postponed reclaim. */
const CHECK_AGAIN_MS = 30_000;
/** A delegation still missing this long after its rental's end needs attention. A block takes less time to arrive. */
const SHORT_ATTENTION_MS = 60_000;

@Injectable()
export class ReclaimChecks {
  constructor(
    private readonly reclaimGuard: ReclaimGuard,
    private readonly reclaimReadings: ReclaimReadings,
    private readonly chainView: ChainView,
    private readonly orderTermination: OrderTermination,
  ) {}

  /** Omits reclaims that failed so often that their next attempt is not due yet. */
  omitResting(pass: AdvancePass, builds: readonly OrderBuild[]): readonly OrderBuild[] {
    return builds.filter(({ order, leg, purpose }) => {
      const restMs = purpose === 'reclaim' ? reclaimRestMs(tallyOf(leg, purpose), this.chainView.movingSec) : 0;
      // Check within 30 s, because a chain that stops and resumes ends the rest.
      if (restMs > 0) pass.restAtMost(order, Math.min(restMs, CHECK_AGAIN_MS));
      return restMs === 0;
    });
  }

  /** Omits reclaims for which the delegation on chain is too small or unknown. */
  async omitWithheld<T extends { readonly order: ClaimedOrder; readonly leg: ClaimedLeg }>(
    pass: AdvancePass,
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
      pass.restAtMost(
        step.order,
        verdict === 'short' ? Math.min(withheldRestMs(lateMs), CHECK_AGAIN_MS) : pass.delayMs,
      );
      if (verdict === 'short' && lateMs > SHORT_ATTENTION_MS) await this.orderTermination.callAttention(step.order);
    }
    return steps.filter((step) => !withheld.has(step));
  }

  /**
   * Adds the receiver's energy to reclaims if other rentals of the receiver continue. Omits reclaims for which no node
   * has returned it yet.
   */
  async addReadings(pass: AdvancePass, builds: readonly OrderBuild[], view: View): Promise<readonly OrderBuild[]> {
    const reclaims = builds.filter(isOfEnergy);
    const { clockMs } = this.chainView;
    const { read, unread } = await this.reclaimReadings.read(
      reclaims.map(({ order }) => order.receiver),
      view,
      clockMs,
    );
    return builds.flatMap((build) => {
      const { order } = build;
      if (!isOfEnergy(build)) return [build];
      if (!unread.has(order.receiver)) return [{ ...build, reading: read.get(order.receiver) }];
      if (this.reclaimReadings.isPatienceOver(clockMs - (order.endsAtMs ?? clockMs))) return [build];
      pass.restAtMost(order, pass.delayMs);
      return [];
    });
  }
}

function pairOf(order: ClaimedOrder, leg: ClaimedLeg): Pair {
  const resource = resourceOf(leg.kind);
  return { walletId: leg.walletId, walletAddress: leg.walletAddress, receiver: order.receiver, resource };
}

/** Only a reclaim of energy leaves used energy behind. */
const isOfEnergy = ({ purpose, leg }: OrderBuild): boolean => purpose === 'reclaim' && leg.kind === 'rental';
