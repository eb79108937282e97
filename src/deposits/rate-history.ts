/**
 * What a TRX and a USDT were worth, minute by minute, so that a deposit is credited at the rate of its own block's minute
 * whenever it is read. The only writer of asset_rate.
 */
import { Injectable } from '@nestjs/common';
import type { DepositAsset } from '../domain/deposit-state.js';
import { rateE8, type RateE8 } from '../domain/units.js';
import { Database, type Queryable } from '../store/database.js';
import { JUMP_PERCENT, PEG_MIN, valuedAt, type MinuteRate } from './judgement.js';

/** A rate of a later minute was written by a clock that was ahead. On a network for tests the chain may be ahead, too. */
export const KNOWN_BY = `greatest(clock_timestamp(), (SELECT block_at FROM deposit_cursor))`;

/** Workers follow the clock every few seconds: one that has run ahead of what they saw has jumped, and names no minute. */
const IS_FOLLOWED = `(SELECT coalesce(clock_timestamp() < followed_at + interval '10 minutes', true) FROM clock_mark)`;

/**
 * The first of a minute stays: what was credited by it must not change under later deposits of the same minute. The
 * database's clock says which minute it is, but where a chain is ahead of it ($3).
 */
const KEEP = {
  name: 'keep_asset_rate',
  text: `INSERT INTO asset_rate (asset, minute, rate_e8)
    SELECT $1, date_trunc('minute', greatest(clock_timestamp(), $3::timestamptz)), $2 WHERE ${IS_FOLLOWED} ON CONFLICT DO NOTHING`,
};

/** $1 asset, $2 a moment, $3 the lowest that is looked for. The median of the day before the minute found, with that minute. */
const FIND = {
  name: 'find_asset_rate',
  text: `SELECT r.rate_e8, (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY d.rate_e8) FROM asset_rate d
      WHERE d.asset = r.asset AND d.minute <= r.minute AND d.minute > r.minute - interval '24 hours') AS median_e8
    FROM asset_rate r WHERE r.asset = $1 AND r.minute >= date_trunc('minute', $2::timestamptz)
      AND r.minute <= greatest(${KNOWN_BY}, $2::timestamptz) AND r.rate_e8 >= $3 ORDER BY r.minute LIMIT 1`,
};

/**
 * $1 asset, $2 a moment, $3 the lowest rate of a dollar token with its peg, $4 how many percent TRX may be from its median.
 * The median is taken minute by minute, up to the first that passes.
 */
const FIND_UNDOUBTED = {
  name: 'find_undoubted_rate',
  text: `SELECT r.minute, r.rate_e8 FROM asset_rate r CROSS JOIN LATERAL (
      SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY d.rate_e8) AS rate_e8 FROM asset_rate d
       WHERE d.asset = r.asset AND d.minute <= r.minute AND d.minute > r.minute - interval '24 hours') median
    WHERE r.asset = $1 AND r.minute >= date_trunc('minute', $2::timestamptz)
      AND r.minute <= greatest(${KNOWN_BY}, $2::timestamptz)
      AND CASE r.asset WHEN 'USDT' THEN r.rate_e8 >= $3::bigint
        ELSE abs(r.rate_e8 - median.rate_e8) * 100 <= median.rate_e8 * $4::bigint END
    ORDER BY r.minute LIMIT 1`,
};

/** By which a deposit is credited without anybody's look. */
export interface UndoubtedRate {
  readonly rate: RateE8;
  readonly minute: Date;
}

@Injectable()
export class RateHistory {
  constructor(private readonly database: Database) {}

  /** Keeps the rate of this minute, or of that of `aheadAt` if it is later, unless there is one. */
  async keep(asset: DepositAsset, rate: RateE8, aheadAt?: Date): Promise<void> {
    await this.database.query(KEEP, [asset, rate, aheadAt]);
  }

  /**
   * The rate at the minute of `at`, or the first one after it; undefined while there is none. A dollar token's is the
   * first at which it has its peg, or one without while there is no other.
   */
  async find(tx: Queryable, asset: DepositAsset, at: Date): Promise<MinuteRate | undefined> {
    const first = await this.findFrom(tx, asset, at, 0n);
    if (first === undefined || asset !== 'USDT' || first.rate >= PEG_MIN) return first;
    return (await this.findFrom(tx, asset, at, PEG_MIN)) ?? first;
  }

  /** The first undoubted rate at the minute of `at` or after it; undefined while there is none. */
  async findUndoubted(tx: Queryable, asset: DepositAsset, at: Date): Promise<UndoubtedRate | undefined> {
    const [row] = await tx.query<{ minute: Date; rate_e8: bigint }>(FIND_UNDOUBTED, [asset, at, PEG_MIN, JUMP_PERCENT]);
    return row && { rate: valuedAt(asset, rateE8(row.rate_e8)), minute: row.minute };
  }

  private async findFrom(
    tx: Queryable,
    asset: DepositAsset,
    at: Date,
    lowest: bigint,
  ): Promise<MinuteRate | undefined> {
    const [row] = await tx.query<{ rate_e8: bigint; median_e8: bigint }>(FIND, [asset, at, lowest]);
    return row && { rate: rateE8(row.rate_e8), median: rateE8(row.median_e8) };
  }
}
