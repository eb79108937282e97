/**
 * The TRX/USD rate for quotes and charges. One process reads it for all, and Postgres keeps the last one. Never
 * guesses: while the rate is too old, or another one is held back, it is not `fresh`, and dollar figures are omitted
 * (docs/interface.md §5).
 */
import { Injectable, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { withDeadline } from '../../platform/support/clock.js';
import { Config, ConfigError } from '../../platform/config/config.js';
import { rateText } from '../../domain/conversion.js';
import type { RateE8 } from '../../domain/units.js';
import { Repeater } from '../../platform/support/repeat.js';
import { Database, isDatabaseAway } from '../../platform/database/database.js';
import { SharedReading } from '../../platform/database/shared-reading.js';
import { Log } from '../../platform/observability/logger.js';
import {
  HeldRates,
  RATE_NAME,
  decodeRate,
  doubtOf,
  encodeRate,
  isInBand,
  type HeldRate,
  type StoredRate,
} from './held-rates.js';
import { RATE_SOURCE_NAMES, agreedRate, askSource, rateQuorum, rateSource, type RateSource } from './rate-sources.js';

export interface CurrentRate {
  readonly rate: RateE8;
  /** Recent enough to show dollars. */
  readonly fresh: boolean;
}

const SOURCE_TIMEOUT_MS = 4000;
const READ_LIMIT_MS = 6000;
/** Limit of a starting process's wait for its first rate. Without one it starts anyway. */
const START_LIMIT_MS = 3000;
const STATIC = 'static';
/** Time for which a doubtful rate must persist before it is used without the operator. */
const HELD_SEC_MAX = 3600;

/** A rate was read that is not used for charges yet. */
class HeldRateError extends Error {
  override readonly name = 'HeldRateError';
}

/** Returns the configured sources. Throws ConfigError for an unknown name, or `static` together with others. */
function readSources({ sources: names, sourceUrls }: Config['rates']): readonly RateSource[] {
  const unique = [...new Set(names)];
  const others = [...sourceUrls.keys()].filter((name) => rateSource(name) === undefined);
  if (others.length > 0) {
    throw new ConfigError([`RATE_SOURCE_URLS must name exchanges of ${RATE_SOURCE_NAMES.join(', ')}`]);
  }
  if (unique.length === 1 && unique[0] === STATIC) return [];
  const sources = unique.flatMap((name) => rateSource(name) ?? []);
  if (sources.length === 0 || sources.length !== unique.length) {
    throw new ConfigError([`RATE_SOURCES must name exchanges of ${RATE_SOURCE_NAMES.join(', ')}, or only ${STATIC}`]);
  }
  return sources;
}

@Injectable()
export class Rates implements OnModuleInit, BeforeApplicationShutdown {
  private readonly sources: readonly RateSource[];
  private readonly reading: SharedReading<StoredRate>;
  private readonly heldRates: HeldRates;
  private held: HeldRate | undefined;
  private readonly repeater: Repeater;

  constructor(
    private readonly config: Config,
    database: Database,
    private readonly log: Log,
  ) {
    this.sources = readSources(config.rates);
    this.reading = new SharedReading(database, {
      name: RATE_NAME,
      refreshMs: config.rates.refreshSec * 1000,
      readLimitMs: READ_LIMIT_MS,
      read: () => this.readRate(),
      encode: encodeRate,
      decode: decodeRate,
    });
    this.heldRates = new HeldRates(database);
    this.repeater = new Repeater({
      run: () => this.refresh(),
      retryMs: this.reading.retryMs,
      onFailure: (err) => {
        // Already logged when the rate was first held back.
        if (err instanceof HeldRateError) return;
        log.warn({ err }, 'failed to refresh the TRX/USD rate');
      },
    });
  }

  async onModuleInit(): Promise<void> {
    if (this.sources.length === 0) return;
    await withDeadline(this.repeater.start(), START_LIMIT_MS, 'the first rate').catch(() => undefined);
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.repeater.stop();
  }

  /** Returns the rate to convert at, and if dollars may be shown. Never throws. */
  current(): CurrentRate {
    const { fallback, maxAgeSec } = this.config.rates;
    if (this.sources.length === 0) return { rate: fallback, fresh: true };
    const latest = this.reading.latest();
    if (latest === undefined) return { rate: fallback, fresh: false };
    return { rate: latest.value.rate, fresh: this.held === undefined && latest.ageMs <= maxAgeSec * 1000 };
  }

  /** True while a rate is held back, until the operator confirms it or it has persisted for an hour. */
  get isHeld(): boolean {
    return this.held !== undefined;
  }

  /** Seconds since the rate was read; 0 with a static one, infinite before the first. */
  get ageSec(): number {
    if (this.sources.length === 0) return 0;
    return (this.reading.latest()?.ageMs ?? Number.POSITIVE_INFINITY) / 1000;
  }

  private async refresh(): Promise<number> {
    try {
      this.held = await this.heldRates.readHeld();
    } catch (error) {
      if (!isDatabaseAway(error)) throw error;
    }
    return this.reading.refresh();
  }

  /** Returns the rate that the exchanges agree on. Throws HeldRateError while it is held back. */
  private async readRate(): Promise<StoredRate> {
    const rate = await this.askExchanges();
    const last = this.reading.latest()?.value;
    const { fallback } = this.config.rates;
    const doubt = doubtOf(rate, last, fallback);
    if (doubt !== undefined && !(await this.holdUntilConfirmed(rate, doubt))) {
      throw new HeldRateError(`the rate ${rateText(rate)} is held: ${doubt}`);
    }
    if (this.held !== undefined) await this.heldRates.drop();
    this.held = undefined;
    return { rate, isVouched: !isInBand(rate, fallback) };
  }

  /** Holds a doubtful rate back. Returns true once it has persisted for an hour. */
  private async holdUntilConfirmed(rate: RateE8, doubt: string): Promise<boolean> {
    const before = this.held;
    this.held = { rate, heldSec: 0, seenSec: 0 };
    try {
      this.held = (await this.heldRates.hold(rate)) ?? this.held;
    } catch (error) {
      // Without the database, its age is unknown, so it does not count as persistent.
      if (!isDatabaseAway(error)) throw error;
    }
    if (this.held.heldSec >= HELD_SEC_MAX) {
      this.log.warn({ rate: rateText(rate), reason: 'unchanged for an hour' }, 'held TRX/USD rate accepted');
      return true;
    }
    if (before?.rate !== this.held.rate) {
      this.log.error(
        { rate: rateText(rate), doubt, todo: 'confirm it with `price confirm-rate`, or wait an hour' },
        'TRX/USD rate held back',
      );
    }
    return false;
  }

  private async askExchanges(): Promise<RateE8> {
    const urls = this.config.rates.sourceUrls;
    const answers = await Promise.allSettled(
      this.sources.map((source) => askSource(source, urls.get(source.name), SOURCE_TIMEOUT_MS)),
    );
    const rates = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    const faults = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []));
    for (const err of faults) this.log.debug({ err }, 'failed to read the rate of an exchange');
    const rate = agreedRate(rates, rateQuorum(this.sources.length));
    if (rate === undefined) {
      throw new AggregateError(
        faults,
        `no rate: ${rates.length.toString()} of ${this.sources.length.toString()} exchanges answered, too few of them alike`,
      );
    }
    return rate;
  }
}
