/**
 * Computes the energy that running rentals lose when another rental of their receiver ends. Pure.
 *
 * TRON keeps one figure of used energy per account. An undelegation moves a share of it to the owner of the stake: used
 * × undelegated stake / all stake of the receiver, at most the energy of the undelegated stake. Usage of the ended
 * rental beyond that share stays with the receiver, and reduces the usable energy of its running rentals. The code
 * calls it leftover usage.
 */
import { divCeil, type Energy } from '../../../domain/units.js';
import { energyOfSun, type EnergyRatio } from '../../pool/energy-ratio.js';
import type { ReceiverDelivery, ReceiverUsage, RunningRental } from '../loop/claimed-order.js';

const DAY_MS = 86_400_000;
const PRECISION = 1_000_000_000;

/**
 * Returns the leftover usage that remains after `ms`, rounded up. TRON: used energy recovers linearly within at most 24
 * hours, and every further use stretches the recovery of all of it. So each hour at least 1/24 of the remainder
 * recovers: the exponential is the least upper bound for any further use.
 */
export function unrecovered(energy: bigint, ms: number): bigint {
  if (ms <= 0) return energy;
  return divCeil(energy * BigInt(Math.ceil(Math.exp(-ms / DAY_MS) * PRECISION)), BigInt(PRECISION));
}

/** Usage that reclaims left at a receiver, and the receiver's energy from other parties, as of `asOfMs`. */
export interface Leftover {
  readonly energy: bigint;
  readonly othersEnergy: bigint;
  readonly asOfMs: number;
}

const NOTHING: Leftover = { energy: 0n, othersEnergy: 0n, asOfMs: 0 };

/** The change that an included reclaim made to readings from before its block. */
interface Applied {
  readonly block: number;
  readonly moved: bigint;
  readonly taken: bigint;
}

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const orZero = (a: bigint): bigint => (a > 0n ? a : 0n);

/**
 * Returns the usage that the reclaims of one receiver left there. Usage counts first against the rental that ends, up to
 * the energy it sold. A delegation between the reading and the reclaim lets more usage stay. Rounded in favour of the
 * receiver.
 */
export function leftoverOf({ reclaims, deliveries }: Pick<ReceiverUsage, 'reclaims' | 'deliveries'>): Leftover {
  let left = NOTHING;
  const applied: Applied[] = [];
  for (const reclaim of reclaims) {
    const since = applied.filter(({ block }) => block > reclaim.readBlock);
    const used = orZero(reclaim.used - since.reduce((sum, { moved }) => sum + moved, 0n));
    const added = deliveredBetween(deliveries, reclaim.readBlock, reclaim.block);
    const limit = orZero(reclaim.limit + added - since.reduce((sum, { taken }) => sum + taken, 0n));
    const before = least(unrecovered(left.energy, reclaim.blockAtMs - left.asOfMs), used);
    const counted = least(used - before, reclaim.sold);
    const moved = movedUsage(used, reclaim.taken, limit);
    applied.push({ block: reclaim.block, moved, taken: reclaim.taken });
    left = {
      energy: orZero(before + counted - moved),
      // TRON rounds the limit once over all stake; the pool's part is rounded separately.
      othersEnergy: orZero(reclaim.limit - reclaim.pool - 1n),
      asOfMs: reclaim.blockAtMs,
    };
  }
  return left;
}

/** Returns the energy that was delegated after block `after`, up to block `to`. */
function deliveredBetween(deliveries: readonly ReceiverDelivery[], after: number, to: number): bigint {
  return deliveries.reduce((sum, { block, energy }) => (block > after && block <= to ? sum + energy : sum), 0n);
}

/** TRON (UnDelegateResourceActuator): the usage that an undelegation moves; the lower value where rounding decides. */
function movedUsage(used: bigint, taken: bigint, limit: bigint): bigint {
  return limit <= taken ? least(used, taken) : least((used * taken) / (limit + 1n), taken);
}

/**
 * Returns the extra energy that rentals of `sold` energy need so that leftover usage costs them nothing. TRON: usage
 * reduces all energy of the receiver equally. So of `left` the rentals bear the share of their energy, this
 * compensation included. The result is c = left × (sold + c) / (sold + c + others), solved for c and rounded up.
 */
export function compensationFor(left: bigint, sold: bigint, others: bigint): bigint {
  if (left === 0n) return 0n;
  if (others === 0n) return left;
  const b = sold + others - left;
  return least(left, (rootCeil(b * b + 4n * left * sold) - b + 1n) / 2n);
}

/** Returns the square root, rounded up. */
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
 * Returns the rental that gets the top-up: the last one to end, so that one delegation serves all rentals until then.
 * Returns undefined if no rental that can be topped up outlasts `untilMs`.
 */
export function carrierOf(rentals: readonly RunningRental[], untilMs: number): RunningRental | undefined {
  return rentals
    .filter((rental) => rental.canBeToppedUp && rental.endsAtMs > untilMs)
    .sort((a, b) => b.endsAtMs - a.endsAtMs || (b.id > a.id ? 1 : -1))
    .at(0);
}

/**
 * Returns the energy that rental `id`, which carries its receiver's top-ups, is owed beyond the sold energy. With it,
 * every running rental there keeps its sold energy minus the usage of its own time.
 */
export function lostEnergyOf(id: bigint, usage: ReceiverUsage, ratio: EnergyRatio, clockMs: number): Energy {
  const left = leftoverOf(usage);
  const running = usage.rentals.filter(({ endsAtMs }) => endsAtMs > clockMs);
  const sold = running.reduce((sum, rental) => sum + rental.energy, 0n);
  const owed = compensationFor(unrecovered(left.energy, clockMs - left.asOfMs), sold, left.othersEnergy);
  // Energy that another running rental has beyond its sold energy serves the receiver too.
  const covered = running.reduce(
    (sum, rental) => (rental.id === id ? sum : sum + orZero(energyOfSun(rental.standingSun, ratio) - rental.energy)),
    0n,
  );
  return orZero(owed - covered) as Energy;
}
