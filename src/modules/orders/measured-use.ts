/** The energy that the receiver of a rental used while it ran, and what that saved. Shown only; no money depends on it. */
import { trxOf } from '../../domain/conversion.js';
import { divCeil, toJsonInteger } from '../../domain/units.js';

/** A row of `rental_use` in the database's JSON. */
export interface MeasuredUseRow {
  readonly energy: number;
  readonly calls: number;
  readonly last_block: number;
  /** True if every block that can hold a further use was read. */
  readonly is_final: boolean;
}

export interface MeasuredUse {
  readonly used_energy: number;
  readonly calls: number;
  readonly last_block: number;
  /** Absent for an order without a recorded energy fee. */
  readonly saved_sun?: number;
  readonly saved_trx?: string;
  readonly is_final: boolean;
}

/** The parts of an order that its saving depends on. */
interface Priced {
  readonly price_sun: bigint;
  readonly bandwidth_price_sun: bigint | null;
  readonly activation_price_sun: bigint | null;
  readonly extensions: readonly { readonly price_sun?: number }[] | null;
}

/**
 * Reads the use of the order `o`; null if none was seen. A block counts only before the end of the rental. So no use
 * is missing once a block at the recorded end or after it was read.
 */
export const MEASURED_USE = `CASE WHEN o.status = 'delivered' AND o.kind = 'rental' THEN (
       SELECT json_build_object('energy', u.energy, 'calls', u.calls, 'last_block', u.last_block, 'is_final',
                coalesce(o.reclaimed_at <= (SELECT c.block_at FROM deposit_cursor c), false))
         FROM rental_use u WHERE u.order_id = o.id) END AS measured_use`;

/** Returns the price of the order's energy, without bandwidth and activation. */
export const energyPriceSun = (order: Omit<Priced, 'extensions'>): bigint =>
  order.price_sun - (order.bandwidth_price_sun ?? 0n) - (order.activation_price_sun ?? 0n);

/**
 * Returns the cost of burning TRX for the used energy, minus the price of the energy; may be negative. Extensions have
 * one price for energy and bandwidth, so they count with the order's share of energy, rounded up.
 */
export function savedSun(usedEnergy: bigint, energyFeeSun: bigint, order: Priced): bigint {
  const ofEnergy = energyPriceSun(order);
  const rented = ofEnergy + (order.bandwidth_price_sun ?? 0n);
  const added = (order.extensions ?? []).reduce((sum, { price_sun: price }) => sum + BigInt(price ?? 0), 0n);
  return usedEnergy * energyFeeSun - ofEnergy - (rented === 0n ? added : divCeil(added * ofEnergy, rented));
}

/** Returns the use in the form of answers. */
export function measuredUseBody(row: MeasuredUseRow, energyFeeSun: bigint | null, order: Priced): MeasuredUse {
  const saved = energyFeeSun === null ? undefined : savedSun(BigInt(row.energy), energyFeeSun, order);
  return {
    used_energy: row.energy,
    calls: row.calls,
    last_block: row.last_block,
    ...(saved !== undefined && { saved_sun: toJsonInteger(saved), saved_trx: trxOf(saved) }),
    is_final: row.is_final,
  };
}
