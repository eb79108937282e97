/** Reserves further legs for orders and running rentals with too little energy or bandwidth. */
import { Injectable } from '@nestjs/common';
import { delegationKind, RESOURCES, type Resource } from '../../../domain/resource.js';
import type { Energy } from '../../../domain/units.js';
import { Config } from '../../../platform/config/config.js';
import type { PartReservation } from '../../order-records/leg-transitions.js';
import { legSlackSun, sunForBandwidth, type NetworkTotals } from '../../pool/bandwidth-stake.js';
import { sunForEnergy } from '../../pool/energy-ratio.js';
import { ChainView, type View } from '../follow/chain-view.js';
import type { ClaimedOrder } from '../loop/claimed-order.js';
import { DeliveryCheck } from '../plan/delivery-check.js';
import { OrderTermination } from '../plan/order-termination.js';
import { bandwidthOf, energyOf } from '../plan/plan.js';
import { isMadeUpFor, isPastTopUps, topUpFor } from '../plan/running-rentals.js';
import { leftoverOf } from '../plan/usage-losses.js';
import type { AdvancePass } from './advance-pass.js';

@Injectable()
export class TopUps {
  constructor(
    private readonly chainView: ChainView,
    private readonly deliveryCheck: DeliveryCheck,
    private readonly orderTermination: OrderTermination,
    private readonly config: Config,
  ) {}

  async reserve(pass: AdvancePass, view: View): Promise<void> {
    for (const { order, plan } of pass.planned) {
      for (const resource of RESOURCES) {
        if (!view.isDisputed) await this.topUpRunningRental(pass, order, view.ratio, resource);
        if (isPastTopUps(order, view.ratio, this.chainView.clockMs, resource)) {
          await pass.runForOrder(order, () => this.orderTermination.postponeTopUps(order, resource));
        }
      }
      if (!plan.topUp) continue;
      await pass.runForOrder(order, async () => {
        if (!(await this.orderTermination.reserveTopUp(order, this.missingOf(order, view.ratio)))) {
          await this.orderTermination.undo(order);
        }
        pass.runAgain(order);
      });
    }
  }

  /**
   * Returns the capacity for the missing energy of an undelivered order; for its missing bandwidth if only that lacks.
   */
  private missingOf(order: ClaimedOrder, totals: NetworkTotals): PartReservation {
    const energy = (order.energy ?? 0n) - energyOf(order);
    return energy > 0n
      ? this.partFor(energy, 'ENERGY', totals)
      : this.partFor((order.bandwidth ?? 0n) - bandwidthOf(order), 'BANDWIDTH', totals);
  }

  private partFor(units: bigint, resource: Resource, totals: NetworkTotals): PartReservation {
    const { marginBps } = this.config.pool;
    const kind = delegationKind(resource);
    const amountSun =
      resource === 'ENERGY'
        ? sunForEnergy(units as Energy, totals, marginBps)
        : sunForBandwidth(units, totals, marginBps);
    return { kind, amountSun, slackSun: legSlackSun(kind, totals) };
  }

  private async topUpRunningRental(
    pass: AdvancePass,
    order: ClaimedOrder,
    totals: NetworkTotals,
    resource: Resource,
  ): Promise<void> {
    // The claimed order does not show the changes of this pass.
    if (pass.hasMoved(order)) return;
    const { clockMs } = this.chainView;
    const needed = topUpFor(order, totals, clockMs, resource);
    const left = resource === 'ENERGY' ? order.usage && leftoverOf(order.usage).energy : undefined;
    if (needed !== undefined) {
      await pass.runForOrder(order, async () => {
        if (await this.deliveryCheck.isFutile(order)) return this.orderTermination.postponeTopUps(order, resource);
        const isReserved = await this.orderTermination.reserveRunningTopUp(order, {
          part: this.partFor(needed.units, resource, totals),
          cause: needed.cause,
          left: needed.cause === 'usage' ? left : undefined,
        });
        if (isReserved) pass.runAgain(order);
      });
    } else if (left !== undefined && isMadeUpFor(order, totals, clockMs)) {
      await pass.runForOrder(order, () => this.orderTermination.recordHarmlessLeftover(order, left));
    }
  }
}
