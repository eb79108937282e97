/** What the records say of energy that is delegated to an address, held against one reading of it. Pure. */
import { EXTENSIONS_MAX } from '../domain/order-state.js';
import { sun, type Energy } from '../domain/units.js';
import { energyOfSun } from '../pool/energy-ratio.js';
import type { LegToAddress } from './auto-delegation-claims.js';
import type { EnergyReading } from './energy-readings.js';
import type { StandingRental } from './refill-plan.js';

/** Nodes compute in floating point, and the ratio moves between blocks: a delegation may give a thousandth less. */
const CREDIBLE_PER_MILLE = 999n;
/** A rental that gives less than this share of what was bought, in 1/100, is short. */
const WHOLE_PERCENT = 99n;

/** By what `keyOf` says of each, in their order. */
export function grouped<T>(items: readonly T[], keyOf: (item: T) => bigint): ReadonlyMap<bigint, readonly T[]> {
  const groups = new Map<bigint, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

/** The rentals to the address, as far as `reading` shows them. */
export function rentalsOf(legs: readonly LegToAddress[], reading: EnergyReading): StandingRental[] {
  return [...grouped(legs, (leg) => leg.order_id).values()].flatMap((ofOrder) => {
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

/** Whether a reading can be true: it shows no less than what our own delegations give that stand in it for certain. */
export function isCredible(reading: EnergyReading, legs: readonly LegToAddress[]): boolean {
  const certain = legs.filter((leg) => isShown(leg, reading) && !leg.is_reclaim_sent);
  const given = certain.reduce((total, leg) => total + energyOf(leg, reading), 0n);
  return reading.limit * 1000n >= given * CREDIBLE_PER_MILLE;
}

/**
 * Whether a delegation of ours came with the newest block that is known: a node behind the same name as the one that had
 * it may answer from before it, and where others delegate to the address too its answer is credible all the same.
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
