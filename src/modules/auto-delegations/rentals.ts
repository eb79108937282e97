/** Derives the rentals to an address from the records and one reading of it. Pure. */
import { EXTENSIONS_MAX } from '../../domain/order-state.js';
import { sun, type Energy } from '../../domain/units.js';
import { groupBy } from '../../platform/support/group-by.js';
import { energyOfSun } from '../pool/energy-ratio.js';
import type { LegToAddress } from './auto-delegation-claims.js';
import type { EnergyReading } from './energy-readings.js';
import type { StandingRental } from './refill-plan.js';

/** Nodes compute in floating point, and the ratio moves between blocks: a delegation may give a thousandth less. */
const CREDIBLE_PER_MILLE = 999n;
/** A rental that gives less than this share of the bought energy, in 1/100, is short. */
const WHOLE_PERCENT = 99n;

/** Returns the rentals to the address, as far as `reading` shows them. */
export function rentalsOf(legs: readonly LegToAddress[], reading: EnergyReading): StandingRental[] {
  return [...groupBy(legs, (leg) => leg.order_id).values()].flatMap((ofOrder) => {
    const [order] = ofOrder;
    if (order === undefined) return [];
    const sum = (which: (leg: LegToAddress) => boolean) =>
      ofOrder.filter(which).reduce((total, leg) => total + energyOf(leg, reading), 0n) as Energy;
    const standing = sum((leg) => isShown(leg, reading));
    const isReclaimed = order.undoing || ofOrder.some((leg) => leg.is_reclaim_sent);
    return {
      orderId: order.order_id,
      isOwn: order.is_own,
      energy: order.energy,
      standing,
      coming: sum((leg) => !order.undoing && !leg.is_reclaim_sent && !isShown(leg, reading)),
      endsAtMs: order.ends_at?.getTime(),
      isReclaimed,
      extendable: extendableOf(order, standing),
    };
  });
}

function extendableOf(order: LegToAddress, standing: Energy): StandingRental['extendable'] {
  const isWhole = order.is_sound && standing * 100n >= order.energy * WHOLE_PERCENT;
  if (!isWhole || order.extensions >= EXTENSIONS_MAX) return 'no';
  return order.settled ? 'yes' : 'later';
}

/** Returns true if a reading is credible: it shows at least the energy of our own delegations that it must include. */
export function isCredible(reading: EnergyReading, legs: readonly LegToAddress[]): boolean {
  const certain = legs.filter((leg) => isShown(leg, reading) && !leg.is_reclaim_sent);
  const given = certain.reduce((total, leg) => total + energyOf(leg, reading), 0n);
  return reading.limit * 1000n >= given * CREDIBLE_PER_MILLE;
}

/**
 * Returns true if one of our delegations came with the newest known block. Another node behind the same name may answer
 * from before it. If others delegate to the address too, such an answer still seems credible.
 */
export function isJustDelegated(legs: readonly LegToAddress[], headNumber: number): boolean {
  return legs.some((leg) => leg.delegated_in !== null && Number(leg.delegated_in) >= headNumber);
}

function isShown(leg: LegToAddress, { block }: EnergyReading): boolean {
  return leg.delegated_in !== null && Number(leg.delegated_in) <= block;
}

function energyOf(leg: LegToAddress, { ratio }: EnergyReading): Energy {
  return energyOfSun(sun(leg.amount_sun), ratio);
}
