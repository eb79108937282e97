/** The CSV of a project's orders, with the figures of their prices and the transactions of their deliveries. */
import { burnPrice, rateText, trxOf } from '../../domain/conversion.js';
import { energy, type RateE8 } from '../../domain/units.js';
import type { CsvCell } from '../../platform/support/csv.js';
import type { OrderMetadata } from '../orders/order-labels.js';
import { money } from './answers.js';
import type { OrderDetails, OrderListRow } from './order-list.js';

export interface OrderCsvRow extends OrderListRow {
  readonly metadata: OrderMetadata | null;
  readonly price_sun: bigint;
  readonly bandwidth_price_sun: bigint | null;
  readonly activation_price_sun: bigint | null;
  readonly kept_credits: bigint | null;
  readonly trx_usd_e8: bigint;
  readonly energy_fee_sun: bigint | null;
  readonly expected_uses: number | null;
  /** Energy that the receiver's calls took during the rental; null if none was seen. */
  readonly used_energy: bigint | null;
  /** Transactions of the delivery that are in a block, separated by spaces. */
  readonly txids: string | null;
  /** The receiver's usable energy before the delivery and after it; null if it was not read. */
  readonly before_energy: bigint | null;
  readonly after_energy: bigint | null;
}

export const ORDER_CSV_DETAILS: OrderDetails = {
  columns: `, x.metadata, x.price_sun, x.bandwidth_price_sun, x.activation_price_sun, x.kept_credits, x.trx_usd_e8, x.energy_fee_sun, x.expected_uses, u.before_energy, u.after_energy,
    (SELECT r.energy FROM rental_use r WHERE r.order_id = o.id) AS used_energy,
    (SELECT string_agg(encode(t.txid, 'hex'), ' ' ORDER BY l.leg_no) FROM leg l
       JOIN chain_tx t ON t.order_id = l.order_id AND t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status IN ('included', 'solid')
      WHERE l.order_id = o.id) AS txids`,
  joins: 'JOIN orders x ON x.id = o.id LEFT JOIN receiver_energy u ON u.order_id = o.id',
};

export const ORDER_CSV = [
  ...['order', 'key', 'kind', 'status', 'receive_address', 'energy', 'duration_sec', 'credits', 'usd'],
  ...['created_at', 'delivered_at', 'ends_at', 'reclaimed_at', 'error_code'],
  ...['reference', 'metadata', 'price_trx', 'trx_usd', 'burn_price_trx', 'txids'],
  ...['used_energy', 'usable_energy_before', 'usable_energy_after'],
  ...['bandwidth', 'bandwidth_price_trx', 'activation_price_trx', 'kept_credits'],
];

export function orderCells(row: OrderCsvRow): readonly CsvCell[] {
  return [
    ...[row.id, row.key, row.kind, row.status, row.receive_address, row.energy, row.duration_sec, row.credits],
    ...[{ decimal: money(row.credits).usd }, row.created_at, row.delivered_at, row.ends_at, row.reclaimed_at],
    ...[row.error_code, row.reference, row.metadata === null ? null : JSON.stringify(row.metadata)],
    ...[{ decimal: trxOf(row.price_sun) }, { decimal: rateText(row.trx_usd_e8 as RateE8) }, burnPriceOf(row)],
    ...[row.txids, row.used_energy, row.before_energy, row.after_energy],
    ...[row.bandwidth, trxOrNull(row.bandwidth_price_sun), trxOrNull(row.activation_price_sun), row.kept_credits],
  ];
}

const trxOrNull = (sun: bigint | null): CsvCell => (sun === null ? null : { decimal: trxOf(sun) });

/** Returns the cost of burning the same energy in TRX at the fee of that time, if it was recorded. */
function burnPriceOf({ energy: amount, energy_fee_sun: fee, expected_uses: uses }: OrderCsvRow): CsvCell {
  if (amount === null || fee === null) return null;
  return { decimal: trxOf(burnPrice(energy(amount), fee, uses ?? 1)) };
}
