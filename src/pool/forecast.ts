/**
 * What the pool could sell now and in each of the next hours: what is free, what recovers, and what comes back as
 * rentals end. TRON: energy that a receiver used comes back as used, and recovers linearly over a day; nobody knows
 * beforehand how much that will be, so there are two figures. Reads only.
 */
import type { Database } from '../store/database.js';
import { TRANSACTION_BYTES } from './bandwidth.js';

export const FORECAST_HOURS = 24;
/** TRON: used energy is whole again after 28 800 blocks. */
const RECOVERY_HOURS = 24n;

export interface ForecastHour {
  readonly hour: number;
  /** If all that is rented out is used up by its end. */
  readonly atLeastSun: bigint;
  /** If none of it is. */
  readonly atMostSun: bigint;
  /** Transactions that could be paid for, two for each leg of an order, if none was sold meanwhile. */
  readonly transactions: bigint;
}

export interface PoolSums {
  readonly freeSun: bigint;
  /** Own stake whose energy was used; taken as used up just now, so it comes back rather sooner than shown. */
  readonly recoveringSun: bigint;
  /** What bandwidth and TRX pay for and no open leg needs. */
  readonly freeTransactions: bigint;
  /** What used bandwidth will pay for once it is whole again. */
  readonly recoveringTransactions: bigint;
}

export interface PoolStanding extends PoolSums {
  /** Sun whose rental ends within that hour, counted from 1; 0 = has ended already. */
  readonly endingSun: ReadonlyMap<number, bigint>;
}

/** Now (hour 0) and the next 24 hours. Pure. */
export function forecast(standing: PoolStanding): ForecastHour[] {
  const { freeSun, recoveringSun, endingSun, freeTransactions, recoveringTransactions } = standing;
  return Array.from({ length: FORECAST_HOURS + 1 }, (_, hour) => {
    let [atLeastSun, atMostSun] = [freeSun, freeSun];
    const recovered = recoveredBy(recoveringSun, BigInt(hour));
    atLeastSun += recovered;
    atMostSun += recovered;
    for (const [end, amount] of endingSun) {
      // Now is what can be sold now: what has just ended is not back yet.
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
 * The first hour at which the pool cannot bear what is sold by then, if as much is sold each hour as on average of a day
 * and nothing of it is used up; undefined when it bears it throughout. `soldSun`: what was sold in a day, by the hours
 * that it was sold for, after which it is back. Pure.
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

/** What is not delivered yet runs its whole time from now. */
const ENDING = `SELECT greatest(ceil(extract(epoch FROM coalesce(o.ends_at - $1, o.duration_sec * interval '1 second')) / 3600), 0)::integer AS hour,
    sum(l.amount_sun)::bigint AS sun
  FROM open_leg l JOIN open_orders o ON o.id = l.order_id JOIN pool_wallet w ON w.id = l.wallet_id
  WHERE l.kind = 'rental' AND l.status IN ('reserved', 'placed', 'active', 'reclaiming') AND w.status = 'active'
    AND coalesce(o.ends_at, $1 + o.duration_sec * interval '1 second') <= $1 + $2 * interval '1 hour'
  GROUP BY 1`;

/**
 * What was lent in a day is found by when a leg changed last, which has an index: it became active then, or before. Times
 * that an index is asked for stand as `(SELECT clock_timestamp())`: read once, as only such a one can be.
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

/** What the selling wallets have now. */
export async function poolSums(database: Database): Promise<PoolSums> {
  const [sums] = await database.query<SumsRow>(SUMS, [TRANSACTION_BYTES]);
  return {
    freeSun: sums?.free ?? 0n,
    recoveringSun: sums?.recovering ?? 0n,
    freeTransactions: sums?.free_transactions ?? 0n,
    recoveringTransactions: sums?.recovering_transactions ?? 0n,
  };
}

/** And what their rentals give back: costs by all that run. `chainNow`: the head's time, since rentals end by the chain's clock. */
export async function poolStanding(database: Database, chainNow: Date): Promise<PoolStanding> {
  const sums = await poolSums(database);
  const rows = await database.query<{ hour: number; sun: bigint }>(ENDING, [chainNow, FORECAST_HOURS]);
  return { ...sums, endingSun: new Map(rows.map((row) => [row.hour, row.sun])) };
}

/** What was sold in the last day, by the hours that it was sold for, 24 at most: costs by as much, up to 100 000 legs. */
export async function soldInDay(database: Database, chainNow: Date): Promise<ReadonlyMap<number, bigint>> {
  const rows = await database.query<{ hours: number; sun: bigint }>(SOLD, [chainNow, FORECAST_HOURS]);
  return new Map(rows.map((row) => [row.hours, row.sun]));
}
