/**
 * What was sold stays delivered: when a running rental falls short of it, because the network's stake grew, and how much
 * is then added. Pure. TRON: a delegation is an amount of stake; its energy is that share of all stake at any moment.
 */
import type { Energy } from '../../domain/units.js';
import { energyOfSun, type EnergyRatio } from '../../pool/energy-ratio.js';
import { isEnding } from './plan.js';
import type { ClaimedLeg, ClaimedOrder } from '../loop/claimed-order.js';

/** A rental is topped up when less than this share of what was sold stands, in 1/100. */
const STANDING_MIN_PERCENT = 99n;
/** Longer than a top-up takes to be proven dead: with less time left it would help nobody and delay the reclaim. */
export const TOP_UP_TIME_LEFT_MS = 180_000;
/** Bounds what one rental may cost us; by then the ratio has drifted to several times what it was. */
export const TOP_UP_LEGS_MAX = 10;
/** Each top-up of a rental adds so much more beyond what was sold, in 1/10 000, that few are needed while stake grows. */
const HEADROOM_BPS = 200n;

/** Sun delegated for each energy sold, × 10^6, below which a rental is short at this ratio. */
export function shortBelowE6({ totalEnergyLimit, totalEnergyWeight }: EnergyRatio): bigint {
  return (STANDING_MIN_PERCENT * 10n ** 10n * totalEnergyWeight) / totalEnergyLimit;
}

/** What is to be added to a running rental now; undefined when nothing is, or when it cannot be any more. */
export function missingEnergy(order: ClaimedOrder, ratio: EnergyRatio, clockMs: number): Energy | undefined {
  const short = shortfallOf(order, ratio, clockMs);
  // One at a time: what is on its way may be enough.
  if (short === undefined || standingLegs(order).some((leg) => leg.status !== 'active')) return undefined;
  const topUps = topUpsOf(order);
  if (topUps >= TOP_UP_LEGS_MAX) return undefined;
  const wanted = (short.sold * (10_000n + HEADROOM_BPS * BigInt(topUps + 1))) / 10_000n;
  return (wanted - short.standing) as Energy;
}

/** Whether a running rental falls short and will get no more: it had its top-ups, or a foreign act ended one of its legs. */
export function isPastTopUps(order: ClaimedOrder, ratio: EnergyRatio, clockMs: number): boolean {
  if (shortfallOf(order, ratio, clockMs) === undefined) return false;
  return topUpsOf(order) >= TOP_UP_LEGS_MAX || order.legs.some((leg) => leg.status === 'reclaimed');
}

const standingLegs = (order: ClaimedOrder): readonly ClaimedLeg[] =>
  order.legs.filter((leg) => leg.status !== 'released');
const topUpsOf = (order: ClaimedOrder): number => order.legs.filter((leg) => leg.isTopUp).length;

/** What stands of what a running rental sold; undefined when that is enough, or when hardly any time is left. */
function shortfallOf(
  order: ClaimedOrder,
  ratio: EnergyRatio,
  clockMs: number,
): { readonly sold: Energy; readonly standing: bigint } | undefined {
  const { energy: sold } = order;
  if (!order.isSettled || order.kind !== 'rental' || order.status !== 'delivered' || sold === undefined) return;
  if (isEnding(order, clockMs + TOP_UP_TIME_LEFT_MS)) return undefined;
  const standing = standingLegs(order).reduce((sum, leg) => sum + energyOfSun(leg.amountSun, ratio), 0n);
  return standing * 100n >= sold * STANDING_MIN_PERCENT ? undefined : { sold, standing };
}
