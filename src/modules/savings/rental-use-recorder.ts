/**
 * Adds up the energy that receivers use while their rentals run, from the receipts of solid blocks. A use belongs to
 * the rental that ends first, up to the energy it could have given by then; the rest belongs to the next. Only the
 * savings shown to people depend on it.
 */
import { Injectable } from '@nestjs/common';
import type { BlockConsumer } from '../../platform/blocks/block-consumer.js';
import type { WitnessedBlock } from '../../platform/blocks/witnessed-blocks.js';
import { addressFromBytes } from '../../platform/chain/address.js';
import type { Transaction } from '../../platform/database/database.js';

/**
 * $1: receivers. $2: the energy that each used. $3: its number of calls. $4: the block's time. $5: the block's number.
 *
 * Includes legs that were reclaimed in a later block but before this block was read: their `changed_at` is after $4.
 * TRON: used energy recovers within 24 hours, so a rental gives its amount once more in each day, up to its end.
 *
 * OFFSET 0: orders are looked up one by one, however many legs the planner expects of a receiver.
 */
export const RECORD = {
  name: 'record_rental_use',
  text: `WITH rental AS (
      SELECT v.address, v.energy AS used, v.calls, o.id, o.ends_at, greatest(trunc(o.energy
          * (1 + extract(epoch FROM least($4::timestamptz, o.ends_at) - o.delivered_at) / 86400)) - coalesce(u.energy, 0), 0)::bigint AS room
        FROM unnest($1::text[], $2::bigint[], $3::integer[]) AS v(address, energy, calls)
        CROSS JOIN LATERAL (
          SELECT l.order_id FROM pool_wallet w JOIN open_leg l ON l.wallet_id = w.id AND l.receive_address = v.address
             AND l.status IN ('reserved', 'placed', 'active', 'reclaiming')
          UNION SELECT l.order_id FROM pool_wallet w JOIN open_leg l ON l.wallet_id = w.id AND l.receive_address = v.address
             AND l.status = 'reclaimed' AND l.changed_at > $4) l
        CROSS JOIN LATERAL (SELECT * FROM open_orders WHERE id = l.order_id OFFSET 0) o
        LEFT JOIN LATERAL (SELECT energy FROM rental_use WHERE order_id = o.id OFFSET 0) u ON true
       WHERE o.kind = 'rental' AND o.delivered_at <= $4 AND (o.reclaimed_at IS NULL OR o.reclaimed_at > $4)),
    share AS (
      SELECT id, calls, least(room, used - coalesce(sum(room) OVER earlier, 0))::bigint AS energy FROM rental
      WINDOW earlier AS (PARTITION BY address ORDER BY ends_at, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
    INSERT INTO rental_use (order_id, energy, calls, last_block)
      SELECT id, energy, calls, $5 FROM share WHERE energy > 0 ORDER BY id
    ON CONFLICT (order_id) DO UPDATE SET energy = rental_use.energy + excluded.energy,
      calls = rental_use.calls + excluded.calls, last_block = excluded.last_block`,
};

@Injectable()
export class RentalUseRecorder implements BlockConsumer {
  async consumeBlock(tx: Transaction, { number, timestampMs, energyUses }: WitnessedBlock): Promise<() => void> {
    if (energyUses.length > 0) {
      const addresses = energyUses.map(({ caller }) => addressFromBytes(Buffer.from(caller, 'hex')));
      const energy = energyUses.map((use) => use.energy);
      const calls = energyUses.map((use) => use.calls);
      await tx.query(RECORD, [addresses, energy, calls, new Date(timestampMs), number]);
    }
    return () => undefined;
  }
}
