/** Reserves further legs for orders and running rentals with too little energy or bandwidth. */
import { Injectable } from '@nestjs/common';
import type { Energy } from '../../../domain/units.js';
import { Config } from '../../../platform/config/config.js';
import type { PartReservation } from '../../order-records/leg-transitions.js';
import { sunForBandwidth, sunOfOneUnit, type NetworkTotals } from '../../pool/bandwidth-stake.js';
import { sunForEnergy, sunOfOneEnergy, type EnergyRatio } from '../../pool/energy-ratio.js';
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
      if (!view.isDisputed) await this.topUpRunningRental(pass, order, view.ratio);
      if (isPastTopUps(order, view.ratio, this.chainView.clockMs)) {
        await pass.runForOrder(order, () => this.orderTermination.postponeTopUps(order));
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

  /** Returns the capacity for the missing energy of an undelivered order; for its missing bandwidth if only that lacks. */
  private missingOf(order: ClaimedOrder, ratio: NetworkTotals): PartReservation {
    const { marginBps } = this.config.pool;
    const energy = ((order.energy ?? 0n) - energyOf(order)) as Energy;
    if (energy > 0n) {
      return {
        kind: 'rental',
        amountSun: sunForEnergy(energy, ratio, marginBps),
        slackSun: sunOfOneEnergy(ratio),
      };
    }
    const units = (order.bandwidth ?? 0n) - bandwidthOf(order);
    return {
      kind: 'bandwidth',
      amountSun: sunForBandwidth(units, ratio, marginBps),
      slackSun: sunOfOneUnit(ratio),
    };
  }

  private async topUpRunningRental(pass: AdvancePass, order: ClaimedOrder, ratio: EnergyRatio): Promise<void> {
    // The claimed order does not show the changes of this pass.
    if (pass.hasMoved(order)) return;
    const { clockMs } = this.chainView;
    const needed = topUpFor(order, ratio, clockMs);
    const left = order.usage && leftoverOf(order.usage).energy;
    if (needed !== undefined) {
      await pass.runForOrder(order, async () => {
        if (await this.deliveryCheck.isFutile(order)) return this.orderTermination.postponeTopUps(order);
        const isReserved = await this.orderTermination.reserveRunningTopUp(order, {
          amountSun: sunForEnergy(needed.energy, ratio, this.config.pool.marginBps),
          slackSun: sunOfOneEnergy(ratio),
          cause: needed.cause,
          left: needed.cause === 'usage' ? left : undefined,
        });
        if (isReserved) pass.runAgain(order);
      });
    } else if (left !== undefined && isMadeUpFor(order, ratio, clockMs)) {
      await pass.runForOrder(order, () => this.orderTermination.recordHarmlessLeftover(order, left));
    }
  }
}
