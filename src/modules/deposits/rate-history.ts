/**
 * Rates of TRX and USDT by minute. A deposit is credited at the rate of its block's minute, however late the block is
 * read. The only writer of asset_rate.
 */
import { Injectable } from '@nestjs/common';
import type { DepositAsset } from '../../domain/deposit-state.js';
import { rateE8, type RateE8 } from '../../domain/units.js';
import { Database, type Queryable } from '../../platform/database/database.js';
import { JUMP_PERCENT, PEG_MIN, valuedAt, type MinuteRate } from './judgement.js';

/** Later minutes are ignored: a clock that was ahead wrote them. On a test network the chain itself may be ahead. */
export const KNOWN_BY = `greatest(clock_timestamp(), (SELECT block_at FROM deposit_cursor))`;

/**
 * Workers follow the clock every few seconds. A clock far ahead of their last mark has jumped, and is not trusted to
 * name a minute.
 */
const IS_FOLLOWED = `(SELECT coalesce(clock_timestamp() < followed_at + interval '10 minutes', true) FROM clock_mark)`;

/**
 * The first rate of a minute wins: a deposit already credited at it must not differ from later ones of the same minute.
 * The database's clock names the minute, unless the chain is ahead of it ($3).
 */
const KEEP = {
  name: 'keep_asset_rate',
  text: `INSERT INTO asset_rate (asset, minute, rate_e8)
    SELECT $1, date_trunc('minute', greatest(clock_timestamp(), $3::timestamptz)), $2 WHERE ${IS_FOLLOWED} ON CONFLICT DO NOTHING`,
};

/**
 * $1: asset, $2: moment, $3: lowest acceptable rate. The median covers the 24 hours up to and including the minute
 * found.
 */
const FIND = {
  name: 'find_asset_rate',
  text: `SELECT r.rate_e8, (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY d.rate_e8) FROM asset_rate d
      WHERE d.asset = r.asset AND d.minute <= r.minute AND d.minute > r.minute - interval '24 hours') AS median_e8
    FROM asset_rate r WHERE r.asset = $1 AND r.minute >= date_trunc('minute', $2::timestamptz)
      AND r.minute <= greatest(${KNOWN_BY}, $2::timestamptz) AND r.rate_e8 >= $3 ORDER BY r.minute LIMIT 1`,
};

/**
 * $1: asset, $2: moment, $3: lowest rate at which a dollar token keeps its peg, $4: how many percent TRX may differ
 * from its median. The median is computed minute by minute, up to the first minute that qualifies.
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

/** A rate that credits a deposit without the operator's decision. */
export interface UndoubtedRate {
  readonly rate: RateE8;
  readonly minute: Date;
}

@Injectable()
export class RateHistory {
  constructor(private readonly database: Database) {}

  /** Stores the rate of the current minute, or of the minute of `aheadAt` if that is later. Keeps an existing rate. */
  async keep(asset: DepositAsset, rate: RateE8, aheadAt?: Date): Promise<void> {
    await this.database.query(KEEP, [asset, rate, aheadAt]);
  }

  /**
   * Returns the rate at the minute of `at`, or the first later one; undefined while there is none. For a dollar token,
   * the first rate at its peg is preferred over earlier ones without it.
   */
  async find(tx: Queryable, asset: DepositAsset, at: Date): Promise<MinuteRate | undefined> {
    const first = await this.findFrom(tx, asset, at, 0n);
    if (first === undefined || asset !== 'USDT' || first.rate >= PEG_MIN) return first;
    return (await this.findFrom(tx, asset, at, PEG_MIN)) ?? first;
  }

  /** Returns the first undoubted rate at the minute of `at` or after it; undefined while there is none. */
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
