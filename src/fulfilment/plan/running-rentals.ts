/**
 * Keeps what a rental sold usable while it runs: decides when a running rental is topped up, and by how much. Pure.
 *
 * Two things lessen it. The network's stake grows: TRON: a delegation is an amount of stake, and its energy that share of
 * all stake at any moment. And another rental of the receiver ends: see usage-losses.ts.
 */
import type { TopUpCause } from '../../domain/order-state.js';
import { divCeil, type Energy } from '../../domain/units.js';
import { energyOfSun, type EnergyRatio } from '../../pool/energy-ratio.js';
import { isEnding } from './plan.js';
import { carrierOf, lostEnergyOf } from './usage-losses.js';
import type { ClaimedLeg, ClaimedOrder } from '../loop/claimed-order.js';

/** Growth of the network's stake is made up for when less than this share of what was sold stands, in 1/100. */
const STANDING_MIN_PERCENT = 99n;
/** A delegation is in a block within seconds; with less time left a top-up would serve hardly anybody. */
export const TOP_UP_TIME_LEFT_MS = 60_000;
/**
 * Bounds what one rental may cost us. The ratio has drifted to several times what it was by then, or twenty rentals have
 * ended beside this one with more use than any of them before it left to make up for.
 */
export const TOP_UP_LEGS_MAX = 20;
/** Each top-up of a rental adds so much more than is missing, in 1/10 000, that few are needed while it goes on. */
const HEADROOM_BPS = 200n;

/** Sun delegated for each energy sold, × 10^6, below which a rental is short at this ratio. */
export function shortBelowE6({ totalEnergyLimit, totalEnergyWeight }: EnergyRatio): bigint {
  return (STANDING_MIN_PERCENT * 10n ** 10n * totalEnergyWeight) / totalEnergyLimit;
}

/** Energy to add to a running rental, and why. */
export interface TopUp {
  readonly energy: Energy;
  readonly cause: TopUpCause;
}

/** Returns what to add to a running rental now; undefined when nothing is missing, or when it gets no more. */
export function topUpFor(order: ClaimedOrder, ratio: EnergyRatio, clockMs: number): TopUp | undefined {
  const short = shortfallOf(order, ratio, clockMs);
  // One at a time: what is on its way may be enough.
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

/** Whether a running rental falls short and gets no more: it had its top-ups, or a foreign act ended one of its legs. */
export function isPastTopUps(order: ClaimedOrder, ratio: EnergyRatio, clockMs: number): boolean {
  if (shortfallOf(order, ratio, clockMs) === undefined) return false;
  return topUpsOf(order) >= TOP_UP_LEGS_MAX || order.legs.some((leg) => leg.status === 'reclaimed');
}

/** Whether this rental carries the top-ups of its receiver and lacks nothing that reclaims beside it cost there. */
export function isMadeUpFor(order: ClaimedOrder, ratio: EnergyRatio, clockMs: number): boolean {
  if (!isCarrier(order, clockMs)) return false;
  const short = shortfallOf(order, ratio, clockMs);
  return short === undefined || short.lost === 0n;
}

const standingLegs = (order: ClaimedOrder): readonly ClaimedLeg[] =>
  order.legs.filter((leg) => leg.status !== 'released');
const topUpsOf = (order: ClaimedOrder): number => order.legs.filter((leg) => leg.isTopUp).length;

function isRunning(order: ClaimedOrder): boolean {
  return order.isSettled && order.kind === 'rental' && order.status === 'delivered';
}

function isCarrier({ id, usage }: ClaimedOrder, clockMs: number): boolean {
  return usage !== undefined && carrierOf(usage.rentals, clockMs + TOP_UP_TIME_LEFT_MS)?.id === id;
}

/** The energy that reclaims beside a rental cost its receiver, as far as this rental is to make up for it. */
function lostOf(order: ClaimedOrder, ratio: EnergyRatio, clockMs: number): Energy {
  if (order.usage === undefined || !isCarrier(order, clockMs)) return 0n as Energy;
  return lostEnergyOf(order.id, order.usage, ratio, clockMs);
}

interface Shortfall {
  readonly sold: Energy;
  readonly lost: Energy;
  readonly standing: bigint;
  /** Whether the network's growth alone makes it short. */
  readonly hasDrifted: boolean;
}

/** Returns what a running rental lacks; undefined when nothing, or when hardly any time is left. */
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
