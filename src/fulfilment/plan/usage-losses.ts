/**
 * The energy that running rentals lose when another rental of their receiver ends. Pure.
 *
 * TRON keeps one figure of used energy for an account. An undelegation moves a share of it to the owner of the stake:
 * used × undelegated stake / all stake of the receiver, at most the energy of the undelegated stake. Whatever the ended
 * rental used beyond that share stays with the receiver, and lessens what its running rentals can use. It is called
 * leftover usage here.
 */
import { divCeil, type Energy } from '../../domain/units.js';
import { energyOfSun, type EnergyRatio } from '../../pool/energy-ratio.js';
import type { ReceiverUsage, ReclaimReading, RunningRental } from '../loop/claimed-order.js';

const DAY_MS = 86_400_000;
const PRECISION = 1_000_000_000;

/**
 * What is left of leftover usage after `ms`, rounded up. TRON: used energy recovers linearly within at most 24 hours, and
 * every further use stretches the recovery of all of it. So it falls by at least 1/24 of what is left in an hour: the
 * exponential is the least upper bound that holds for every further use.
 */
export function unrecovered(energy: bigint, ms: number): bigint {
  if (ms <= 0) return energy;
  return divCeil(energy * BigInt(Math.ceil(Math.exp(-ms / DAY_MS) * PRECISION)), BigInt(PRECISION));
}

/** Usage that reclaims left on a receiver, and the energy of others there, as of `asOfMs`. */
export interface Leftover {
  readonly energy: bigint;
  readonly othersEnergy: bigint;
  readonly asOfMs: number;
}

const NOTHING: Leftover = { energy: 0n, othersEnergy: 0n, asOfMs: 0 };

/** What an included reclaim changed of the readings that were made before its block. */
interface Applied {
  readonly block: number;
  readonly moved: bigint;
  readonly taken: bigint;
}

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const orZero = (a: bigint): bigint => (a > 0n ? a : 0n);

/**
 * The usage that these reclaims of one receiver, in the order of their blocks, have left there. Usage counts first
 * against the rental that ends, up to the energy it sold. Rounded in favour of the receiver.
 */
export function leftoverOf(reclaims: readonly ReclaimReading[]): Leftover {
  let left = NOTHING;
  const applied: Applied[] = [];
  for (const reclaim of reclaims) {
    const since = applied.filter(({ block }) => block > reclaim.readBlock);
    const used = orZero(reclaim.used - since.reduce((sum, { moved }) => sum + moved, 0n));
    const limit = orZero(reclaim.limit - since.reduce((sum, { taken }) => sum + taken, 0n));
    const before = least(unrecovered(left.energy, reclaim.blockAtMs - left.asOfMs), used);
    const counted = least(used - before, reclaim.sold);
    const moved = movedUsage(used, reclaim.taken, limit);
    applied.push({ block: reclaim.block, moved, taken: reclaim.taken });
    left = {
      energy: orZero(before + counted - moved),
      // The limit is rounded once over all stake, the pool's part by itself.
      othersEnergy: orZero(reclaim.limit - reclaim.pool - 1n),
      asOfMs: reclaim.blockAtMs,
    };
  }
  return left;
}

/** TRON (UnDelegateResourceActuator): the usage that an undelegation takes along; at least, where rounding decides. */
function movedUsage(used: bigint, taken: bigint, limit: bigint): bigint {
  return limit <= taken ? least(used, taken) : least((used * taken) / (limit + 1n), taken);
}

/**
 * What rentals of `sold` energy need beyond it so that the leftover usage costs them nothing. TRON: usage weighs on all
 * energy of the receiver alike, so of `left` they bear the share of their energy, this compensation included:
 * c = left × (sold + c) / (sold + c + others), solved for c and rounded up.
 */
export function compensationFor(left: bigint, sold: bigint, others: bigint): bigint {
  if (left === 0n) return 0n;
  if (others === 0n) return left;
  const b = sold + others - left;
  return least(left, (rootCeil(b * b + 4n * left * sold) - b + 1n) / 2n);
}

/** The square root, rounded up. */
function rootCeil(value: bigint): bigint {
  if (value < 2n) return value;
  let root = 1n << BigInt((value.toString(2).length + 1) >> 1);
  for (;;) {
    const next = (root + value / root) >> 1n;
    if (next >= root) break;
    root = next;
  }
  return root * root < value ? root + 1n : root;
}

/**
 * The rental that gets the top-up: the one that ends last, so that one delegation serves all that run until then.
 * undefined when none runs beyond `untilMs` that can be topped up.
 */
export function carrierOf(rentals: readonly RunningRental[], untilMs: number): RunningRental | undefined {
  return rentals
    .filter((rental) => rental.canBeToppedUp && rental.endsAtMs > untilMs)
    .sort((a, b) => b.endsAtMs - a.endsAtMs || (b.id > a.id ? 1 : -1))
    .at(0);
}

/**
 * The energy that the rental `id`, which carries the top-ups of its receiver, is owed beyond what it sold, so that no
 * rental that runs there has less than it sold minus what was used while it ran.
 */
export function lostEnergyOf(id: bigint, usage: ReceiverUsage, ratio: EnergyRatio, clockMs: number): Energy {
  const left = leftoverOf(usage.reclaims);
  const running = usage.rentals.filter(({ endsAtMs }) => endsAtMs > clockMs);
  const sold = running.reduce((sum, rental) => sum + rental.energy, 0n);
  const owed = compensationFor(unrecovered(left.energy, clockMs - left.asOfMs), sold, left.othersEnergy);
  // Whatever another running rental has beyond what it sold serves the receiver too.
  const covered = running.reduce(
    (sum, rental) => (rental.id === id ? sum : sum + orZero(energyOfSun(rental.standingSun, ratio) - rental.energy)),
    0n,
  );
  return orZero(owed - covered) as Energy;
}
