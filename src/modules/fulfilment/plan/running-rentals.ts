/**
 * Decides when a running rental is topped up and by how much, so that the sold energy and bandwidth stay usable. Pure.
 *
 * Two effects reduce them. The network's stake grows: in TRON a delegation is an amount of stake, and its energy or
 * bandwidth is that share of all stake at any moment. And another rental of the receiver ends, which costs energy: see
 * usage-losses.ts. The usage of bandwidth that an ended rental leaves is not made up for.
 */
import { TOP_UP_LEGS_MAX, type TopUpCause } from '../../../domain/order-state.js';
import { delegationKind, type Resource } from '../../../domain/resource.js';
import { divCeil, type Energy, type Sun } from '../../../domain/units.js';
import { bandwidthOfSun, type NetworkTotals } from '../../pool/bandwidth-stake.js';
import { energyOfSun } from '../../pool/energy-ratio.js';
import { isEnding } from './plan.js';
import { carrierOf, lostEnergyOf } from './usage-losses.js';
import type { ClaimedLeg, ClaimedOrder } from '../loop/claimed-order.js';

/** Growth of the network's stake is made up for if less than this percentage of the sold amount is delegated. */
const STANDING_MIN_PERCENT = 99n;
/** A delegation enters a block within seconds. With less time left a top-up would hardly be used. */
export const TOP_UP_TIME_LEFT_MS = 60_000;
/** Headroom of each top-up beyond the missing amount, in 1/10,000, so that a rental needs few top-ups. */
const HEADROOM_BPS = 200n;

/** Returns the delegated sun per sold unit, × 10^6, below which a rental is short at this ratio. */
export function shortBelowE6(totals: NetworkTotals, resource: Resource): bigint {
  const [limit, weight] =
    resource === 'ENERGY'
      ? [totals.totalEnergyLimit, totals.totalEnergyWeight]
      : [totals.totalNetLimit, totals.totalNetWeight];
  // A chain without bandwidth, which sold none.
  return limit === 0n ? 0n : (STANDING_MIN_PERCENT * 10n ** 10n * weight) / limit;
}

/** Energy or bandwidth to add to a running rental, with its cause. */
export interface TopUp {
  readonly units: bigint;
  readonly cause: TopUpCause;
}

/** Returns the amount to add to a running rental now, or undefined if none is missing or the rental gets no more. */
export function topUpFor(
  order: ClaimedOrder,
  totals: NetworkTotals,
  clockMs: number,
  resource: Resource,
): TopUp | undefined {
  const short = shortfallOf(order, totals, clockMs, resource);
  // One top-up at a time: the one under way may be enough.
  if (short === undefined || standingLegs(order, resource).some((leg) => leg.status !== 'active')) return undefined;
  const topUps = topUpsOf(order, resource);
  if (topUps >= TOP_UP_LEGS_MAX) return undefined;
  const withHeadroom = (missing: bigint): bigint =>
    divCeil(missing * (10_000n + HEADROOM_BPS * BigInt(topUps + 1)), 10_000n);
  const sold = short.hasDrifted ? withHeadroom(short.sold) : short.sold;
  return {
    units: sold + withHeadroom(short.lost) - short.standing,
    cause: short.lost > 0n ? 'usage' : 'stake',
  };
}

/**
 * Returns true if a running rental is short of a resource but gets no more of it. It has used its top-ups, or a foreign
 * act ended one of its legs.
 */
export function isPastTopUps(order: ClaimedOrder, totals: NetworkTotals, clockMs: number, resource: Resource): boolean {
  if (shortfallOf(order, totals, clockMs, resource) === undefined) return false;
  const hasClosedLeg = legsOf(order, resource).some((leg) => leg.status === 'reclaimed');
  return topUpsOf(order, resource) >= TOP_UP_LEGS_MAX || hasClosedLeg;
}

/** Returns true if this rental carries its receiver's top-ups and the reclaims of other rentals cost it nothing. */
export function isMadeUpFor(order: ClaimedOrder, totals: NetworkTotals, clockMs: number): boolean {
  if (!isCarrier(order, clockMs)) return false;
  const short = shortfallOf(order, totals, clockMs, 'ENERGY');
  return short === undefined || short.lost === 0n;
}

const legsOf = (order: ClaimedOrder, resource: Resource): readonly ClaimedLeg[] =>
  order.legs.filter(({ kind }) => kind === delegationKind(resource));
const standingLegs = (order: ClaimedOrder, resource: Resource): readonly ClaimedLeg[] =>
  legsOf(order, resource).filter((leg) => leg.status !== 'released');
const topUpsOf = (order: ClaimedOrder, resource: Resource): number =>
  legsOf(order, resource).filter((leg) => leg.isTopUp).length;
const unitsOf = (amount: Sun, totals: NetworkTotals, resource: Resource): bigint =>
  resource === 'ENERGY' ? energyOfSun(amount, totals) : bandwidthOfSun(amount, totals);

function isRunning(order: ClaimedOrder): boolean {
  return order.isSettled && order.kind === 'rental' && order.status === 'delivered';
}

function isCarrier({ id, usage }: ClaimedOrder, clockMs: number): boolean {
  return usage !== undefined && carrierOf(usage.rentals, clockMs + TOP_UP_TIME_LEFT_MS)?.id === id;
}

/** Returns the energy that reclaims of other rentals cost the receiver, as far as this rental must make up for it. */
function lostOf(order: ClaimedOrder, totals: NetworkTotals, clockMs: number): Energy {
  if (order.usage === undefined || !isCarrier(order, clockMs)) return 0n as Energy;
  return lostEnergyOf(order.id, order.usage, totals, clockMs);
}

interface Shortfall {
  readonly sold: bigint;
  readonly lost: bigint;
  readonly standing: bigint;
  /** True if the network's growth alone makes it short. */
  readonly hasDrifted: boolean;
}

/** Returns the shortfall of a running rental, or undefined if there is none or hardly any time is left. */
function shortfallOf(
  order: ClaimedOrder,
  totals: NetworkTotals,
  clockMs: number,
  resource: Resource,
): Shortfall | undefined {
  const sold = resource === 'ENERGY' ? order.energy : order.bandwidth;
  if (!isRunning(order) || sold === undefined) return undefined;
  if (isEnding(order, clockMs + TOP_UP_TIME_LEFT_MS)) return undefined;
  const standing = standingLegs(order, resource).reduce(
    (sum, leg) => sum + unitsOf(leg.amountSun, totals, resource),
    0n,
  );
  const hasDrifted = standing * 100n < sold * STANDING_MIN_PERCENT;
  const lost = resource === 'ENERGY' ? lostOf(order, totals, clockMs) : 0n;
  const hasLost = lost > 0n && standing < sold + lost;
  return hasDrifted || hasLost ? { sold, lost: hasLost ? lost : 0n, standing, hasDrifted } : undefined;
}
