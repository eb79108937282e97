/** Decides the refill that an address needs now. Pure. All times are the chain's, all amounts energy. */
import { REFILL_LEAD_SEC } from '../../domain/order-state.js';
import type { Energy } from '../../domain/units.js';

export interface RefillTerms {
  readonly keepEnergy: Energy;
  readonly refillBelow: Energy;
  readonly durationSec: number;
  readonly idleAfterSec: number;
  readonly untilMs: number | undefined;
}

/** A rental of energy to the address, by any buyer. */
export interface StandingRental {
  readonly orderId: bigint;
  /** Bought for this auto-delegation. */
  readonly isOwn: boolean;
  /** The bought energy. */
  readonly energy: Energy;
  /** Its part of the energy in the reading. */
  readonly standing: Energy;
  /** Pending energy that is not in the reading. */
  readonly coming: Energy;
  /** Undefined while it is not delivered. */
  readonly endsAtMs: number | undefined;
  /** True if the reading may no longer include it: a reclaim was sent, or the order is being undone. */
  readonly isReclaimed: boolean;
  /** `later`: once it is settled. `no`: it is short, ended by others, or already extended as often as allowed. */
  readonly extendable: 'yes' | 'later' | 'no';
}

/** A node's answer on the address. */
export interface Reading {
  readonly limit: bigint;
  readonly used: bigint;
}

export interface Need {
  readonly terms: RefillTerms;
  readonly clockMs: number;
  /** The time from which it counts as unused. */
  readonly usedAtMs: number;
  readonly reading: Reading;
  readonly rentals: readonly StandingRental[];
}

export type Refill =
  | { readonly kind: 'order'; readonly energy: Energy }
  /** `replacement`: the energy to order instead if the rental cannot be extended after all. */
  | {
      readonly kind: 'extension';
      readonly rental: StandingRental;
      readonly endsAtMs: number;
      readonly replacement: Energy;
    }
  /** A rental that ends soon can be extended once it is settled, and there is time to wait for that. */
  | { readonly kind: 'wait' };

export interface RefillPlan {
  /** Energy that it can spend, including pending energy. */
  readonly usable: Energy;
  readonly refill: Refill | undefined;
  readonly isAsleep: boolean;
  /** The chain time at which the plan may change without a use of the address. */
  readonly changeAtMs: number | undefined;
}

/** With less time left than this, a rental that cannot be extended yet is replaced. */
const EXTENSION_WAIT_MS = 15_000;

export function planRefill(need: Need): RefillPlan {
  const { terms, clockMs, usedAtMs, reading, rentals } = need;
  const sum = (of: (rental: StandingRental) => bigint, which = rentals) =>
    which.reduce((total, rental) => total + of(rental), 0n);
  const readable = atLeastZero(reading.limit - reading.used);
  const coming = sum((rental) => rental.coming);
  const usable = (readable + coming) as Energy;
  const idleAtMs = usedAtMs + terms.idleAfterSec * 1000;
  const restsAtMs = Math.min(idleAtMs, terms.untilMs ?? idleAtMs);
  if (clockMs >= restsAtMs) return { usable, refill: undefined, isAsleep: clockMs >= idleAtMs, changeAtMs: undefined };

  const leadMs = Math.min(REFILL_LEAD_SEC, terms.durationSec / 2) * 1000;
  // A rental that outlasts the need may end without a replacement.
  const isLeaving = ({ endsAtMs, isReclaimed }: StandingRental): boolean =>
    !isReclaimed && endsAtMs !== undefined && endsAtMs <= clockMs + leadMs && endsAtMs < restsAtMs;
  const leaving = rentals.filter(isLeaving);
  const lost = sum((rental) => rental.standing, leaving);
  // TRON: an undelegation takes a proportional share of the used energy with it.
  const left = reading.limit > 0n ? (readable * atLeastZero(reading.limit - lost)) / reading.limit : 0n;
  const effective = left + coming - sum((rental) => rental.coming, leaving);
  const changes = rentals.flatMap(({ endsAtMs, isReclaimed }) => {
    if (endsAtMs === undefined || isReclaimed) return [];
    return endsAtMs - leadMs > clockMs ? endsAtMs - leadMs : endsAtMs > clockMs ? endsAtMs : [];
  });
  const changeAtMs = Math.min(restsAtMs, ...changes);
  const refill = effective < terms.refillBelow ? refillOf(need, { usable, effective, leaving }) : undefined;
  return { usable, refill, isAsleep: false, changeAtMs };
}

interface Shortage {
  readonly usable: bigint;
  readonly effective: bigint;
  readonly leaving: readonly StandingRental[];
}

function refillOf({ terms, clockMs }: Need, { usable, effective, leaving }: Shortage): Refill {
  // Extending a rental larger than the current `keepEnergy` would cost more than the terms ask for.
  const mine = leaving.flatMap((rental) =>
    rental.isOwn && rental.energy <= terms.keepEnergy && rental.endsAtMs !== undefined && rental.endsAtMs > clockMs
      ? [{ rental, endsAtMs: rental.endsAtMs }]
      : [],
  );
  const whole = mine.find(({ rental }) => rental.extendable === 'yes');
  const missing = (terms.keepEnergy - effective) as Energy;
  if (whole !== undefined) return { kind: 'extension', ...whole, replacement: missing };
  const soon = mine.find(
    ({ rental, endsAtMs }) => rental.extendable === 'later' && endsAtMs - clockMs > EXTENSION_WAIT_MS,
  );
  if (soon !== undefined && usable >= terms.refillBelow) return { kind: 'wait' };
  return { kind: 'order', energy: missing };
}

function atLeastZero(value: bigint): bigint {
  return value > 0n ? value : 0n;
}
