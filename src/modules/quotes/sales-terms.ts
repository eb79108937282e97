/**
 * Terms of sale from Postgres: the operator's price table, the stake of the whole pool, and the database's clock. They
 * are cached and refreshed in the background, so quoting reads nothing from the database. Writes nothing.
 */
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { monotonicMs, nowMs, withDeadline } from '../../platform/support/clock.js';
import { ApiError } from '../../domain/errors.js';
import type { SaleBounds } from '../../platform/http/body/member-rules.js';
import { Log } from '../../platform/observability/logger.js';
import { sun, type Sun } from '../../domain/units.js';
import { RepeatedTask } from '../../platform/support/repeated-task.js';
import { Database } from '../../platform/database/database.js';
import { longestDurationSec, type PriceRow } from '../../domain/price.js';

/** The longest delay until a change of the price table takes effect. */
const REFRESH_MS = 2000;
const RETRY_MS = 1000;
const START_LIMIT_MS = 3000;
/** A slower answer says too little about the clock that it was read from. */
const CLOCK_ROUND_TRIP_MS_MAX = 500;

const LOAD = {
  name: 'sales-terms-load',
  text: `SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms,
                (SELECT json_agg(json_build_array(duration_max_sec, sun_per_energy::text, sun_per_bandwidth::text))
                   FROM price_row) AS prices,
                (SELECT CASE WHEN bool_and(read_at IS NOT NULL)
                             THEN json_build_array(
                               coalesce(sum(greatest(staked_sun, free_sun_seen + delegated_sun))
                                 FILTER (WHERE sells_until > clock_timestamp()), 0)::text,
                               coalesce(sum(staked_bandwidth_sun)
                                 FILTER (WHERE sells_until > clock_timestamp()), 0)::text) END
                   FROM pool_wallet WHERE role = 'pool' AND status = 'active') AS pool_sun`,
};

interface TermsRow {
  readonly now_ms: number;
  readonly prices: readonly (readonly [number, string, string | null])[] | null;
  /** The stake for energy and the stake for bandwidth. */
  readonly pool_sun: readonly [string, string] | null;
}

@Injectable()
export class SalesTerms extends RepeatedTask implements SaleBounds, OnModuleInit {
  private rows: readonly PriceRow[] = [];
  private poolSun: { readonly energy: Sun; readonly bandwidth: Sun } | undefined;
  /** The database's clock minus this process's monotonic one. */
  private clockOffsetMs: number | undefined;

  constructor(
    private readonly database: Database,
    log: Log,
  ) {
    super(RETRY_MS, (err) => {
      log.warn({ err }, 'failed to refresh the price table');
    });
  }

  async onModuleInit(): Promise<void> {
    await withDeadline(this.repeater.start(), START_LIMIT_MS, 'the price table').catch(() => undefined);
  }

  /** Returns the price table. Throws ApiError SERVICE_UNAVAILABLE if it was never read. */
  get priceRows(): readonly PriceRow[] {
    if (this.rows.length === 0) {
      throw new ApiError('SERVICE_UNAVAILABLE', 'Prices are unknown at present. Try again shortly.', {
        retryAfterSec: 1,
      });
    }
    return this.rows;
  }

  get longestSec(): number | undefined {
    return this.rows.length === 0 ? undefined : longestDurationSec(this.rows);
  }

  /** Stake of all wallets that sell and were read recently; undefined while any active pool wallet was never read. */
  get poolStakeSun(): Sun | undefined {
    return this.poolSun?.energy;
  }

  /** The same for bandwidth. Wallets keep a part of it for their own transactions. */
  get poolBandwidthStakeSun(): Sun | undefined {
    return this.poolSun?.bandwidth;
  }

  /** Returns the database's clock in ms since the epoch, which decides the expiry of quotes (docs/interface.md §18). */
  databaseNowMs(): number {
    return Math.round(this.clockOffsetMs === undefined ? nowMs() : monotonicMs() + this.clockOffsetMs);
  }

  protected override async runOnce(): Promise<number> {
    const askedAtMs = monotonicMs();
    const [row] = await this.database.query<TermsRow>(LOAD);
    const answeredAtMs = monotonicMs();
    if (row === undefined) throw new Error('the database answered without a row');
    this.rows = (row.prices ?? []).map(([durationMaxSec, perEnergy, perBandwidth]) => ({
      durationMaxSec,
      sunPerEnergy: BigInt(perEnergy),
      sunPerBandwidth: perBandwidth === null ? null : BigInt(perBandwidth),
    }));
    this.poolSun =
      row.pool_sun === null ? undefined : { energy: sun(row.pool_sun[0]), bandwidth: sun(row.pool_sun[1]) };
    // Measured from the start of the request: an error can only make the clock late, so that no hold is shorter than
    // shown.
    if (this.clockOffsetMs === undefined || answeredAtMs - askedAtMs <= CLOCK_ROUND_TRIP_MS_MAX) {
      this.clockOffsetMs = row.now_ms - askedAtMs;
    }
    return REFRESH_MS;
  }
}
