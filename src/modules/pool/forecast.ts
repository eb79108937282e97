/**
 * Forecasts the stake that the pool could sell now and in each of the next hours. It adds free stake, recovering stake,
 * and the stake of rentals that end. TRON: energy that a receiver used returns as used, and recovers linearly over a
 * day. Its amount is unknown in advance, so there are two figures. Reads only.
 */
import type { Database } from '../../platform/database/database.js';
import { TRANSACTION_BYTES } from './bandwidth.js';

export const FORECAST_HOURS = 24;
/** TRON: used energy has fully recovered after 28 800 blocks. */
const RECOVERY_HOURS = 24n;

export interface ForecastHour {
  readonly hour: number;
  /** If receivers use all rented energy by the end of each rental. */
  readonly atLeastSun: bigint;
  /** If receivers use none of it. */
  readonly atMostSun: bigint;
  /** Transactions that could be paid for if nothing is sold until then; each leg of an order needs two. */
  readonly transactions: bigint;
}

export interface PoolSums {
  readonly freeSun: bigint;
  /** Own stake whose energy was used. Counted as if it was used just now, so it recovers sooner than shown. */
  readonly recoveringSun: bigint;
  /** Paid for by bandwidth and TRX, and needed by no open leg. */
  readonly freeTransactions: bigint;
  /** Paid for by used bandwidth once that has recovered. */
  readonly recoveringTransactions: bigint;
}

export interface PoolStanding extends PoolSums {
  /** Sun by the hour in which its rental ends, counted from 1; 0 means that the rental has ended. */
  readonly endingSun: ReadonlyMap<number, bigint>;
}

/** Returns the forecast for now (hour 0) and the next 24 hours. Pure. */
export function forecast(standing: PoolStanding): ForecastHour[] {
  const { freeSun, recoveringSun, endingSun, freeTransactions, recoveringTransactions } = standing;
  return Array.from({ length: FORECAST_HOURS + 1 }, (_, hour) => {
    let [atLeastSun, atMostSun] = [freeSun, freeSun];
    const recovered = recoveredBy(recoveringSun, BigInt(hour));
    atLeastSun += recovered;
    atMostSun += recovered;
    for (const [end, amount] of endingSun) {
      // Hour 0 shows only stake that can be sold now; the stake of a rental that just ended is not reclaimed yet.
      if (hour === 0 || end > hour) continue;
      atLeastSun += recoveredBy(amount, BigInt(hour - end));
      atMostSun += amount;
    }
    const transactions = freeTransactions + recoveredBy(recoveringTransactions, BigInt(hour));
    return { hour, atLeastSun, atMostSun, transactions };
  });
}

function recoveredBy(amount: bigint, hours: bigint): bigint {
  return hours >= RECOVERY_HOURS ? amount : (amount * hours) / RECOVERY_HOURS;
}

/**
 * Returns the first hour in which demand exceeds the pool, or undefined if the pool suffices throughout. Assumes sales
 * at the hourly average of a day, and that receivers use none of the energy.
 *
 * `soldSun` holds the sun sold in a day by rental length in hours; after that length the sun is free again. Pure.
 */
export function soldOutAt(hours: readonly ForecastHour[], soldSun: ReadonlyMap<number, bigint>): number | undefined {
  return hours.find(({ hour, atMostSun }) => {
    let lentSun = 0n;
    for (const [length, amount] of soldSun) lentSun += (amount * BigInt(Math.min(hour, length))) / RECOVERY_HOURS;
    return lentSun > atMostSun;
  })?.hour;
}

const SUMS = `SELECT coalesce(sum((SELECT sum(free_sun) FROM pool_slot WHERE wallet_id = w.id)), 0)::bigint AS free,
    coalesce(sum(recovering_sun), 0)::bigint AS recovering,
    coalesce(sum((SELECT sum(free_transactions) FROM pool_slot WHERE wallet_id = w.id)), 0)::bigint AS free_transactions,
    coalesce(sum(net_used / $1::bigint), 0)::bigint AS recovering_transactions
  FROM pool_wallet w WHERE w.role = 'pool' AND w.status = 'active' AND w.sells_until > clock_timestamp()`;

/** A rental that is not delivered yet counts with its whole duration from now. */
const ENDING = `SELECT greatest(ceil(extract(epoch FROM coalesce(o.ends_at - $1, o.duration_sec * interval '1 second')) / 3600), 0)::integer AS hour,
    sum(l.amount_sun)::bigint AS sun
  FROM open_leg l JOIN open_orders o ON o.id = l.order_id JOIN pool_wallet w ON w.id = l.wallet_id
  WHERE l.kind = 'rental' AND l.status IN ('reserved', 'placed', 'active', 'reclaiming') AND w.status = 'active'
    AND coalesce(o.ends_at, $1 + o.duration_sec * interval '1 second') <= $1 + $2 * interval '1 hour'
  GROUP BY 1`;

/**
 * Finds the legs of a day by `changed_at`, which has an index; a leg became active at or before that time. The index
 * condition reads `(SELECT clock_timestamp())`, because Postgres can use only a value that it computes once.
 */
const SOLD = `SELECT least(ceil(extract(epoch FROM coalesce(o.ends_at - l.active_at, o.duration_sec * interval '1 second')) / 3600), $2)::integer AS hours,
    sum(l.amount_sun)::bigint AS sun
  FROM (SELECT l.order_id, l.amount_sun, l.active_at FROM pool_wallet w JOIN open_leg l ON l.wallet_id = w.id
      AND l.changed_at > (SELECT clock_timestamp() - interval '1 day') WHERE w.role = 'pool' AND l.kind = 'rental' AND NOT l.top_up
      AND l.active_at > $1::timestamptz - interval '1 day' LIMIT 100000) l JOIN open_orders o ON o.id = l.order_id
  GROUP BY 1`;

interface SumsRow {
  readonly free: bigint;
  readonly recovering: bigint;
  readonly free_transactions: bigint;
  readonly recovering_transactions: bigint;
}

/** Returns the present sums of the wallets that sell. */
export async function poolSums(database: Database): Promise<PoolSums> {
  const [sums] = await database.query<SumsRow>(SUMS, [TRANSACTION_BYTES]);
  return {
    freeSun: sums?.free ?? 0n,
    recoveringSun: sums?.recovering ?? 0n,
    freeTransactions: sums?.free_transactions ?? 0n,
    recoveringTransactions: sums?.recovering_transactions ?? 0n,
  };
}

/**
 * Adds the stake that running rentals will return; the cost grows with their number. `chainNow` is the head's block
 * time, because rentals end by the chain's clock.
 */
export async function poolStanding(database: Database, chainNow: Date): Promise<PoolStanding> {
  const sums = await poolSums(database);
  const rows = await database.query<{ hour: number; sun: bigint }>(ENDING, [chainNow, FORECAST_HOURS]);
  return { ...sums, endingSun: new Map(rows.map((row) => [row.hour, row.sun])) };
}

/** Returns the sun sold in the last day by rental length in hours, 24 at most. Reads up to 100 000 legs. */
export async function soldInDay(database: Database, chainNow: Date): Promise<ReadonlyMap<number, bigint>> {
  const rows = await database.query<{ hours: number; sun: bigint }>(SOLD, [chainNow, FORECAST_HOURS]);
  return new Map(rows.map((row) => [row.hours, row.sun]));
}
