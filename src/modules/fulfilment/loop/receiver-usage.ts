/**
 * Reads the figures from which losses of running rentals are computed. Postgres is the queue of record: a reclaim's
 * reading is due until its leftover usage is weighed.
 */
import { sun } from '../../../domain/units.js';
import type { Queryable } from '../../../platform/database/database.js';
import { ownedBy } from '../../../platform/database/owner-order.js';
import { TOP_UP_LEGS_MAX } from '../../../domain/order-state.js';
import { TOP_UP_COUNT } from '../../order-records/lost-energy-sql.js';
import { TOP_UP_TIME_LEFT_MS } from '../plan/running-rentals.js';
import type { ReceiverDelivery, ReceiverUsage, ReclaimReading, RunningRental } from './claimed-order.js';

/** Older leftovers have recovered except for a twentieth. TRON: usage recovers within 24 hours. */
const HORIZON = `interval '3 days'`;
/** The newest of a receiver, dropped ones included: one reclaim every four minutes. Older ones are not read. */
const RECLAIMS_MAX = 1000;

const IS_OF_RECEIVER = ownedBy('u.receive_address', 'v.receiver');

/**
 * An order may be archived meanwhile. OFFSET 0 keeps the look-up by order, which reads one range of the archive for
 * each.
 */
export const RECLAIMS = {
  name: 'reclaims_of_receivers',
  text: `SELECT v.receiver, u.* FROM unnest($1::text[]) AS v(receiver) CROSS JOIN LATERAL (
      SELECT u.tx_id, u.used_energy, u.limit_energy, u.pool_energy, u.sold_energy, u.taken_energy, u.read_block,
          t.block_number, t.block_at, t.leg_id, d.block_number AS delivered_in
        FROM (SELECT * FROM reclaim_usage u WHERE ${IS_OF_RECEIVER}
               ORDER BY u.receive_address DESC, u.tx_id DESC LIMIT ${RECLAIMS_MAX.toString()}) u
        CROSS JOIN LATERAL (
          SELECT leg_id, block_number, block_at FROM chain_tx
           WHERE id = u.tx_id AND order_id = u.order_id AND status IN ('included', 'solid') OFFSET 0) t
        LEFT JOIN LATERAL (
          SELECT block_number FROM chain_tx
           WHERE leg_id = t.leg_id AND order_id = u.order_id AND purpose = 'delegate' AND status IN ('included', 'solid')
           OFFSET 0) d ON true
       WHERE u.read_at > clock_timestamp() - ${HORIZON}) u
    ORDER BY v.receiver, u.block_number, u.tx_id`,
};

/**
 * Orders and other legs are looked up one by one. If a few receivers have most legs, a join or EXISTS may read all of
 * them, since the planner expects as many legs of each receiver.
 */
export const RENTALS = {
  name: 'rentals_of_receivers',
  text: `SELECT v.receiver, o.id, o.energy, o.ends_at, sum(l.amount_sun)::bigint AS standing_sun,
      max(l.id) FILTER (WHERE l.top_up) AS newest_top_up,
      o.settled AND ${TOP_UP_COUNT} < ${TOP_UP_LEGS_MAX.toString()}
        AND (SELECT x.id FROM open_leg x
              WHERE x.order_id = o.id AND x.kind = 'rental' AND x.status = 'reclaimed' LIMIT 1) IS NULL AS can_be_topped_up
    FROM unnest($1::text[]) AS v(receiver) CROSS JOIN pool_wallet w
      JOIN open_leg l ON l.wallet_id = w.id AND l.receive_address = v.receiver
        AND l.kind = 'rental' AND l.status IN ('reserved', 'placed', 'active', 'reclaiming')
      CROSS JOIN LATERAL (SELECT * FROM open_orders WHERE id = l.order_id OFFSET 0) o
    WHERE o.status = 'delivered' AND o.kind = 'rental' AND o.reclaimed_at IS NULL AND NOT o.undoing
    GROUP BY v.receiver, o.id, o.energy, o.ends_at, o.settled`,
};

const DELIVERIES = {
  name: 'deliveries_to_receivers',
  text: `SELECT v.receiver, l.id AS leg_id, l.energy, t.block_number FROM unnest($1::text[]) AS v(receiver) CROSS JOIN pool_wallet w
      JOIN open_leg l ON l.wallet_id = w.id AND l.receive_address = v.receiver
        AND l.status IN ('reserved', 'placed', 'active', 'reclaiming')
      JOIN open_chain_tx t ON t.leg_id = l.id AND t.purpose = 'delegate' AND t.status IN ('included', 'solid')
    WHERE l.kind = 'rental'`,
};

interface ReclaimRow {
  receiver: string;
  tx_id: bigint;
  used_energy: bigint;
  limit_energy: bigint;
  pool_energy: bigint;
  sold_energy: bigint;
  taken_energy: bigint;
  read_block: bigint;
  block_number: bigint;
  block_at: Date;
  leg_id: bigint;
  /** Null if the transaction of the delegation is unknown. */
  delivered_in: bigint | null;
}

interface DeliveryRow {
  receiver: string;
  leg_id: bigint;
  energy: bigint;
  block_number: bigint;
}

interface RentalRow {
  receiver: string;
  id: bigint;
  energy: bigint;
  ends_at: Date;
  standing_sun: bigint;
  newest_top_up: bigint | null;
  can_be_topped_up: boolean;
}

function toReclaim(row: ReclaimRow): ReclaimReading {
  return {
    txId: row.tx_id,
    readBlock: Number(row.read_block),
    used: row.used_energy,
    limit: row.limit_energy,
    pool: row.pool_energy,
    sold: row.sold_energy,
    taken: row.taken_energy,
    block: Number(row.block_number),
    blockAtMs: row.block_at.getTime(),
  };
}

function toRental(row: RentalRow): RunningRental {
  return {
    id: row.id,
    energy: row.energy,
    endsAtMs: row.ends_at.getTime(),
    standingSun: sun(row.standing_sun),
    canBeToppedUp: row.can_be_topped_up,
  };
}

/** Returns the delegations of both, each once: until its reclaim is final, a delegation is in both. */
function deliveriesOf(reclaims: readonly ReclaimRow[], standing: readonly DeliveryRow[]): ReceiverDelivery[] {
  const ended = reclaims.flatMap(({ leg_id: legId, taken_energy: energy, delivered_in: block }) =>
    block === null ? [] : { leg_id: legId, energy, block_number: block },
  );
  const byLeg = new Map([...ended, ...standing].map((row) => [row.leg_id, row]));
  return [...byLeg.values()].map((row) => ({ block: Number(row.block_number), energy: row.energy }));
}

/** Reads the usage of receivers that recently had reclaims beside a running rental. Omits all other receivers. */
export async function readReceiverUsage(
  database: Queryable,
  receivers: readonly string[],
): Promise<ReadonlyMap<string, ReceiverUsage>> {
  const distinct = [...new Set(receivers)];
  if (distinct.length === 0) return new Map();
  const reclaims = await database.query<ReclaimRow>(RECLAIMS, [distinct]);
  const affected = [...new Set(reclaims.map(({ receiver }) => receiver))];
  if (affected.length === 0) return new Map();
  const rentals = await database.query<RentalRow>(RENTALS, [affected]);
  const standing = await database.query<DeliveryRow>(DELIVERIES, [affected]);
  return new Map(
    affected.map((receiver) => {
      const running = rentals.filter((row) => row.receiver === receiver);
      const ended = reclaims.filter((row) => row.receiver === receiver);
      const newest = running.flatMap((row) => row.newest_top_up ?? []);
      return [
        receiver,
        {
          reclaims: ended.map(toReclaim),
          deliveries: deliveriesOf(
            ended,
            standing.filter((row) => row.receiver === receiver),
          ),
          rentals: running.map(toRental),
          newestTopUp: newest.length === 0 ? undefined : newest.reduce((a, b) => (a > b ? a : b)),
        },
      ];
    }),
  );
}

const CLOSE = {
  name: 'close_readings',
  text: `UPDATE reclaim_usage SET weighed_at = clock_timestamp() WHERE tx_id IN (
    SELECT u.tx_id FROM reclaim_usage u LEFT JOIN open_chain_tx t ON t.id = u.tx_id
     WHERE u.weighed_at IS NULL AND u.read_at < clock_timestamp() - interval '5 minutes'
       AND (t.id IS NULL OR t.status IN ('dead', 'dropped') OR t.status IN ('included', 'solid') AND NOT EXISTS (
         SELECT FROM pool_wallet w JOIN open_leg l ON l.wallet_id = w.id AND l.receive_address = u.receive_address
             AND l.status IN ('reserved', 'placed', 'active', 'reclaiming')
           JOIN open_orders o ON o.id = l.order_id
          WHERE o.reclaimed_at IS NULL AND (o.ends_at IS NULL OR o.ends_at > t.block_at + $2::int * interval '1 millisecond')))
     LIMIT $1)`,
};

/**
 * Closes readings that no rental can be topped up for, because all rentals of that time have ended. This keeps the
 * search for due readings short. Closes at most `limit`.
 */
export async function closeReadings(database: Queryable, limit: number): Promise<void> {
  await database.query(CLOSE, [limit, TOP_UP_TIME_LEFT_MS]);
}
