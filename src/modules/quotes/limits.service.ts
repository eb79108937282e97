/** Answers GET /v1/limits from memory, except for the pool's free stake, which is read at most once a second. */
import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../../platform/support/clock.js';
import { Config } from '../../platform/config/config.js';
import {
  DEFAULT_DURATION_SEC,
  fewestUsesOf,
  leastWorthRenting,
  longestDurationSec,
  mostUses,
  type PriceRow,
} from '../../domain/price.js';
import { toJsonInteger } from '../../domain/units.js';
import { BUDGET_WINDOW_SEC } from '../../platform/http/pipeline/rate-limit.js';
import { priceFloor } from '../pool/bandwidth.js';
import { freeStake, largestSale } from '../pool/sellable.js';
import { Database } from '../../platform/database/database.js';
import type { DurationOnSale, LimitsBody } from './limits.dto.js';
import { Market, type MarketState } from './market.js';
import { SalesTerms } from './sales-terms.js';

/** A reading serves all callers for this long, and all callers that arrive while it runs. */
const KEPT_MS = 1000;

interface FreeReading {
  /** Undefined while the read is in progress. */
  readAtMs: number | undefined;
  readonly free: Promise<readonly bigint[]>;
}

@Injectable()
export class Limits {
  private reading: FreeReading | undefined;

  constructor(
    private readonly database: Database,
    private readonly market: Market,
    private readonly salesTerms: SalesTerms,
    private readonly config: Config,
  ) {}

  /**
   * Returns the present limits. Throws ApiError CHAIN_UNAVAILABLE, or SERVICE_UNAVAILABLE if prices were never read.
   */
  async now(): Promise<LimitsBody> {
    const { sales, http } = this.config;
    const market = this.market.current();
    const rows = this.salesTerms.priceRows.filter(({ durationMaxSec }) => durationMaxSec >= sales.durationMinSec);
    const free = await this.freeStake();
    const budget = (requests: number) => ({ requests, window_sec: BUDGET_WINDOW_SEC });
    return {
      energy: { min: sales.energyMin, max: sales.energyMax },
      duration_sec: { min: sales.durationMinSec, max: longestDurationSec(rows), default: DEFAULT_DURATION_SEC },
      burn_price_sun_per_energy: toJsonInteger(market.energyFeeSun),
      price_floor_sun: toJsonInteger(priceFloor(market.transactionFeeSunPerByte, sales.priceFloorBps)),
      durations: rows
        .toSorted((one, other) => one.durationMaxSec - other.durationMaxSec)
        .map((row) => this.onSale(row, market, free)),
      rate_limits: { quotes: budget(http.rateLimitPerMinute), general: budget(http.generalRateLimitPerMinute) },
      timestamp: new Date(this.salesTerms.databaseNowMs()).toISOString(),
    };
  }

  private onSale(row: PriceRow, market: MarketState, free: readonly bigint[]): DurationOnSale {
    const { sales, pool } = this.config;
    const floor = priceFloor(market.transactionFeeSunPerByte, sales.priceFloorBps);
    const uses = fewestUsesOf(row, market.energyFeeSun);
    const worth = leastWorthRenting(row, floor, market.energyFeeSun, uses);
    const [named, highest] = [BigInt(sales.energyMin), BigInt(sales.energyMax)];
    const least = worth === undefined || worth > named ? worth : named;
    const sold = largestSale(free, { row, floor, ratio: market.ratio, marginBps: pool.marginBps });
    const most = sold < highest ? sold : highest;
    return {
      max_duration_sec: row.durationMaxSec,
      sun_per_energy: toJsonInteger(row.sunPerEnergy),
      ...(uses !== undefined && { min_expected_uses: uses }),
      max_expected_uses: mostUses(row.durationMaxSec),
      ...(least !== undefined && least <= highest && { min_energy: toJsonInteger(least) }),
      max_energy: least === undefined || most < least ? 0 : toJsonInteger(most),
    };
  }

  private freeStake(): Promise<readonly bigint[]> {
    const isOld = (readAtMs: number | undefined) => readAtMs !== undefined && monotonicMs() - readAtMs > KEPT_MS;
    if (this.reading === undefined || isOld(this.reading.readAtMs)) this.reading = this.read();
    return this.reading.free;
  }

  private read(): FreeReading {
    const reading: FreeReading = { readAtMs: undefined, free: freeStake(this.database) };
    const asked = monotonicMs();
    reading.free.then(
      () => (reading.readAtMs = asked),
      () => {
        // The next caller reads again.
        if (this.reading === reading) this.reading = undefined;
      },
    );
    return reading;
  }
}
