/** Answers GET /v1/limits from memory, except for the pool's free stake, which is read at most once a second. */
import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../../platform/support/clock.js';
import { Config } from '../../platform/config/config.js';
import {
  bandwidthTable,
  DEFAULT_DURATION_SEC,
  fewestUsesOf,
  leastWorthRenting,
  longestDurationSec,
  mostUses,
  rowFor,
  type PriceRow,
} from '../../domain/price.js';
import { toJsonInteger } from '../../domain/units.js';
import { BUDGET_WINDOW_SEC } from '../../platform/http/pipeline/rate-limit.js';
import { priceFloor } from '../pool/bandwidth.js';
import { inPlaceOfEnergy } from '../pool/bandwidth-stake.js';
import type { EnergyRatio } from '../pool/energy-ratio.js';
import { freeStake, largestSale, type FreeStake } from '../pool/sellable.js';
import { Database } from '../../platform/database/database.js';
import type { DurationOnSale, LimitsBody } from './limits.dto.js';
import { Market, type MarketState } from './market.js';
import { BANDWIDTH_MAX, BANDWIDTH_MIN } from './quote.dto.js';
import { SalesTerms } from './sales-terms.js';

/** A reading serves all callers for this long, and all callers that arrive while it runs. */
const KEPT_MS = 1000;
const BANDWIDTH_BOUNDS = { min: BANDWIDTH_MIN, max: BANDWIDTH_MAX };

/** One resource for the durations of a row, whose price and ratio stand in the place of those of energy. */
interface ResourceOnSale {
  readonly row: PriceRow;
  /** Cost of burning TRX for one unit. */
  readonly feeSun: bigint;
  /** The expected uses that its least amount counts with. */
  readonly uses: number | undefined;
  readonly bounds: LimitsBody['energy'];
  readonly free: readonly bigint[];
  /** Undefined while unknown. */
  readonly ratio: EnergyRatio | undefined;
}

interface FreeReading {
  /** Undefined while the read is in progress. */
  readAtMs: number | undefined;
  readonly free: Promise<FreeStake>;
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
    const ofBandwidth = bandwidthTable(rows).rows;
    const budget = (requests: number) => ({ requests, window_sec: BUDGET_WINDOW_SEC });
    return {
      energy: { min: sales.energyMin, max: sales.energyMax },
      duration_sec: { min: sales.durationMinSec, max: longestDurationSec(rows), default: DEFAULT_DURATION_SEC },
      burn_price_sun_per_energy: toJsonInteger(market.energyFeeSun),
      ...(ofBandwidth.length > 0 && {
        burn_price_sun_per_bandwidth: toJsonInteger(market.transactionFeeSunPerByte),
      }),
      price_floor_sun: toJsonInteger(priceFloor(market.transactionFeeSunPerByte, sales.priceFloorBps)),
      durations: rows
        .toSorted((one, other) => one.durationMaxSec - other.durationMaxSec)
        .map((row) => ({
          ...this.onSale(row, market, free),
          ...this.bandwidthOnSale(row, rowFor(ofBandwidth, row.durationMaxSec), market, free),
        })),
      rate_limits: { quotes: budget(http.rateLimitPerMinute), general: budget(http.generalRateLimitPerMinute) },
      timestamp: new Date(this.salesTerms.databaseNowMs()).toISOString(),
    };
  }

  private onSale(row: PriceRow, market: MarketState, { energy: free }: FreeStake): DurationOnSale {
    const { sales } = this.config;
    const { energyFeeSun: feeSun, ratio } = market;
    const uses = fewestUsesOf(row, feeSun);
    const bounds = { min: sales.energyMin, max: sales.energyMax };
    const { least, most } = this.amounts({ row, feeSun, uses, bounds, free, ratio }, market);
    return {
      max_duration_sec: row.durationMaxSec,
      sun_per_energy: toJsonInteger(row.sunPerEnergy),
      ...(uses !== undefined && { min_expected_uses: uses }),
      max_expected_uses: mostUses(row.durationMaxSec),
      ...(least !== undefined && { min_energy: least }),
      max_energy: most,
    };
  }

  /** `priced`: the row that prices bandwidth for this duration, with that price in the place of that of energy. */
  private bandwidthOnSale(
    { durationMaxSec }: PriceRow,
    priced: PriceRow | undefined,
    market: MarketState,
    { bandwidth: free }: FreeStake,
  ): Partial<DurationOnSale> {
    if (priced === undefined) return {};
    const { transactionFeeSunPerByte: feeSun, bandwidthRatio } = market;
    const row = { ...priced, durationMaxSec };
    const ratio = bandwidthRatio && inPlaceOfEnergy(bandwidthRatio);
    const uses = mostUses(durationMaxSec);
    const { least, most } = this.amounts({ row, feeSun, uses, bounds: BANDWIDTH_BOUNDS, free, ratio }, market);
    return {
      sun_per_bandwidth: toJsonInteger(row.sunPerEnergy),
      ...(least !== undefined && { min_bandwidth: least }),
      max_bandwidth: most,
    };
  }

  /** Returns the least amount worth renting and the most that one order can get, within the bounds of requests. */
  private amounts(
    { row, feeSun, uses, bounds, free, ratio }: ResourceOnSale,
    { transactionFeeSunPerByte }: MarketState,
  ): { readonly least: number | undefined; readonly most: number } {
    const { sales, pool } = this.config;
    const floor = priceFloor(transactionFeeSunPerByte, sales.priceFloorBps);
    const worth = leastWorthRenting(row, floor, feeSun, uses);
    const [lowest, highest] = [BigInt(bounds.min), BigInt(bounds.max)];
    if (worth === undefined || worth > highest) return { least: undefined, most: 0 };
    const least = worth > lowest ? worth : lowest;
    const isStaked = ratio !== undefined && ratio.totalEnergyWeight > 0n;
    const sold = isStaked ? largestSale(free, { row, floor, ratio, marginBps: pool.marginBps }) : 0n;
    const most = sold < highest ? sold : highest;
    return { least: toJsonInteger(least), most: most < least ? 0 : toJsonInteger(most) };
  }

  private freeStake(): Promise<FreeStake> {
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
