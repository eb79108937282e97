/**
 * Idle and recovering stake of each wallet, summed by UTC day at each reading. The row count depends on wallets and
 * days only, not on sales. The only writer of pool_wallet_day.
 */
import { sun } from '../../domain/units.js';
import { confirmedNow } from '../../platform/database/confirmed-clock.js';
import type { Database, Queryable } from '../../platform/database/database.js';
import { energyOfSun, type EnergyRatio } from './energy-ratio.js';

/**
 * A reading counts for the time since the previous one, in the day of its end. A longer gap ($5, in ms) is an outage:
 * idle stake in it is unknown, so it adds nothing.
 */
const ADD = {
  name: 'pool_add_wallet_day',
  text: `INSERT INTO pool_wallet_day AS d (wallet_id, day, measured_ms, idle_energy_ms, recovering_energy_ms)
    SELECT w.id, ($2::timestamptz AT TIME ZONE 'UTC')::date, p.ms, $3::numeric * p.ms, $4::numeric * p.ms
      FROM pool_wallet w
      CROSS JOIN LATERAL (SELECT floor(extract(epoch FROM $2::timestamptz - w.read_at) * 1000)::bigint AS ms) p
     WHERE w.id = $1 AND p.ms > 0 AND p.ms <= $5::bigint
    ON CONFLICT (day, wallet_id) DO UPDATE SET measured_ms = d.measured_ms + excluded.measured_ms,
      idle_energy_ms = d.idle_energy_ms + excluded.idle_energy_ms,
      recovering_energy_ms = d.recovering_energy_ms + excluded.recovering_energy_ms`,
};

/** Three years, so that reports can compare a year with those before. */
const KEPT_DAYS = 1100;

const PRUNE = {
  name: 'pool_prune_wallet_days',
  text: `WITH oldest AS (SELECT day, wallet_id FROM pool_wallet_day
      WHERE day < ($2::timestamptz AT TIME ZONE 'UTC')::date - ${KEPT_DAYS.toString()}
      ORDER BY day, wallet_id LIMIT $1 FOR UPDATE SKIP LOCKED)
    DELETE FROM pool_wallet_day d USING oldest WHERE d.day = oldest.day AND d.wallet_id = oldest.wallet_id
    RETURNING d.day`,
};

const GAP_MIN_SEC = 300;

export interface WalletReading {
  readonly walletId: number;
  readonly readAt: Date;
  readonly idleSun: bigint;
  readonly recoveringSun: bigint;
  readonly ratio: EnergyRatio;
  /** Interval between readings, in seconds. */
  readonly everySec: number;
}

/** Adds a reading to its day. Must run before `read_at` of the wallet's row changes. */
export async function addToDay(tx: Queryable, reading: WalletReading): Promise<void> {
  const { walletId, readAt, idleSun, recoveringSun, ratio, everySec } = reading;
  if (ratio.totalEnergyWeight === 0n) return;
  const energy = (amount: bigint) => energyOfSun(sun(amount), ratio);
  const gapMs = Math.max(GAP_MIN_SEC, 3 * everySec) * 1000;
  await tx.query(ADD, [walletId, readAt, energy(idleSun), energy(recoveringSun), gapMs]);
}

/** Deletes the oldest days beyond three years, at most `limit` rows. Returns the number of deleted rows. */
export async function pruneWalletDays(database: Database, limit: number): Promise<number> {
  const now = await confirmedNow(database);
  return now === undefined ? 0 : (await database.query(PRUNE, [limit, now])).length;
}
