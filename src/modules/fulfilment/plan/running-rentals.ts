/**
 * Decides when a running rental is topped up and by how much, so that the sold energy stays usable. Pure.
 *
 * Two effects reduce the energy. The network's stake grows: in TRON a delegation is an amount of stake, and its energy
 * is that share of all stake at any moment. And another rental of the receiver ends: see usage-losses.ts.
 */
import { TOP_UP_LEGS_MAX, type TopUpCause } from '../../../domain/order-state.js';
import { divCeil, type Energy } from '../../../domain/units.js';
import { energyOfSun, type EnergyRatio } from '../../pool/energy-ratio.js';
import { isEnding } from './plan.js';
import { carrierOf, lostEnergyOf } from './usage-losses.js';
import type { ClaimedLeg, ClaimedOrder } from '../loop/claimed-order.js';

/** Growth of the network's stake is made up for if less than this percentage of the sold energy is delegated. */
const STANDING_MIN_PERCENT = 99n;
/** A delegation enters a block within seconds. With less time left a top-up would hardly be used. */
export const TOP_UP_TIME_LEFT_MS = 60_000;
/** Headroom of each top-up beyond the missing energy, in 1/10,000, so that a rental needs few top-ups. */
const HEADROOM_BPS = 200n;

/** Returns the delegated sun per sold energy, × 10^6, below which a rental is short at this ratio. */
export function shortBelowE6({ totalEnergyLimit, totalEnergyWeight }: EnergyRatio): bigint {
  return (STANDING_MIN_PERCENT * 10n ** 10n * totalEnergyWeight) / totalEnergyLimit;
}

/** Energy to add to a running rental, with its cause. */
export interface TopUp {
  readonly energy: Energy;
  readonly cause: TopUpCause;
}

/** Returns the energy to add to a running rental now, or undefined if none is missing or the rental gets no more. */
export function topUpFor(order: ClaimedOrder, ratio: EnergyRatio, clockMs: number): TopUp | undefined {
  const short = shortfallOf(order, ratio, clockMs);
  // One top-up at a time: the one under way may be enough.
  if (short === undefined || standingLegs(order).some((leg) => leg.status !== 'active')) return undefined;
  const topUps = topUpsOf(order);
  if (topUps >= TOP_UP_LEGS_MAX) return undefined;
  const withHeadroom = (missing: bigint): bigint =>
    divCeil(missing * (10_000n + HEADROOM_BPS * BigInt(topUps + 1)), 10_000n);
  const sold = short.hasDrifted ? withHeadroom(short.sold) : short.sold;
  return {
    energy: (sold + withHeadroom(short.lost) - short.standing) as Energy,
    cause: short.lost > 0n ? 'usage' : 'stake',
  };
}

/**
 * Returns true if a running rental is short but gets no more. It has used its top-ups, or a foreign act ended one of
 * its legs.
 */
export function isPastTopUps(order: ClaimedOrder, ratio: EnergyRatio, clockMs: number): boolean {
  if (shortfallOf(order, ratio, clockMs) === undefined) return false;
  return topUpsOf(order) >= TOP_UP_LEGS_MAX || energyLegs(order).some((leg) => leg.status === 'reclaimed');
}

/** Returns true if this rental carries its receiver's top-ups and the reclaims of other rentals cost it nothing. */
export function isMadeUpFor(order: ClaimedOrder, ratio: EnergyRatio, clockMs: number): boolean {
  if (!isCarrier(order, clockMs)) return false;
  const short = shortfallOf(order, ratio, clockMs);
  return short === undefined || short.lost === 0n;
}

const energyLegs = (order: ClaimedOrder): readonly ClaimedLeg[] => order.legs.filter(({ kind }) => kind === 'rental');
const standingLegs = (order: ClaimedOrder): readonly ClaimedLeg[] =>
  energyLegs(order).filter((leg) => leg.status !== 'released');
const topUpsOf = (order: ClaimedOrder): number => energyLegs(order).filter((leg) => leg.isTopUp).length;

function isRunning(order: ClaimedOrder): boolean {
  return order.isSettled && order.kind === 'rental' && order.status === 'delivered';
}

function isCarrier({ id, usage }: ClaimedOrder, clockMs: number): boolean {
  return usage !== undefined && carrierOf(usage.rentals, clockMs + TOP_UP_TIME_LEFT_MS)?.id === id;
}

/** Returns the energy that reclaims of other rentals cost the receiver, as far as this rental must make up for it. */
function lostOf(order: ClaimedOrder, ratio: EnergyRatio, clockMs: number): Energy {
  if (order.usage === undefined || !isCarrier(order, clockMs)) return 0n as Energy;
  return lostEnergyOf(order.id, order.usage, ratio, clockMs);
}

interface Shortfall {
  readonly sold: Energy;
  readonly lost: Energy;
  readonly standing: bigint;
  /** True if the network's growth alone makes it short. */
  readonly hasDrifted: boolean;
}

/** Returns the shortfall of a running rental, or undefined if there is none or hardly any time is left. */
function shortfallOf(order: ClaimedOrder, ratio: EnergyRatio, clockMs: number): Shortfall | undefined {
  const { energy: sold } = order;
  if (!isRunning(order) || sold === undefined) return undefined;
  if (isEnding(order, clockMs + TOP_UP_TIME_LEFT_MS)) return undefined;
  const standing = standingLegs(order).reduce((sum, leg) => sum + energyOfSun(leg.amountSun, ratio), 0n);
  const hasDrifted = standing * 100n < sold * STANDING_MIN_PERCENT;
  const lost = lostOf(order, ratio, clockMs);
  const hasLost = lost > 0n && standing < sold + lost;
  return hasDrifted || hasLost ? { sold, lost: hasLost ? lost : (0n as Energy), standing, hasDrifted } : undefined;
}
