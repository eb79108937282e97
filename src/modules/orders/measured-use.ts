/** The energy that the receiver of a rental used while it ran, and what that saved. Shown only; no money depends on it. */
import { trxOf } from '../../domain/conversion.js';
import { toJsonInteger } from '../../domain/units.js';

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

/** Returns the cost of burning TRX for the used energy, minus the price and those of extensions; may be negative. */
export function savedSun(usedEnergy: bigint, energyFeeSun: bigint, { price_sun: price, extensions }: Priced): bigint {
  const paid = (extensions ?? []).reduce((sum, extension) => sum + BigInt(extension.price_sun ?? 0), price);
  return usedEnergy * energyFeeSun - paid;
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
