/**
 * The TRX/USD rate that quotes and charges use. Read by one process for all; the last one ever seen stays in Postgres.
 * Never guesses: a rate that is too old says so, and the dollar figures are left out (Contract 3).
 */
import { Inject, Injectable, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { withDeadline } from '../clock.js';
import { Config, ConfigError } from '../config.js';
import { parseRate, rateText } from '../money/convert.js';
import type { RateE8 } from '../money/units.js';
import { Repeater } from '../repeat.js';
import { Database } from '../store/database.js';
import { SharedReading } from '../store/shared-reading.js';
import { Log } from '../http/logger.js';
import { RATE_SOURCE_NAMES, agreedRate, askSource, rateSource, type RateSource } from './rate-sources.js';

export interface CurrentRate {
  readonly rate: RateE8;
  /** Young enough to show dollars at. */
  readonly fresh: boolean;
}

const SOURCE_TIMEOUT_MS = 4000;
const READ_LIMIT_MS = 6000;
/** How long a process that starts waits for its first rate; without one it serves all the same. */
const START_LIMIT_MS = 3000;
const STATIC = 'static';
/** Two must agree, unless only one was configured. */
const QUORUM = 2;

/** The configured sources; throws ConfigError for an unknown name or `static` beside others. */
function readSources(names: readonly string[]): readonly RateSource[] {
  const unique = [...new Set(names)];
  if (unique.length === 1 && unique[0] === STATIC) return [];
  const sources = unique.flatMap((name) => rateSource(name) ?? []);
  if (sources.length === 0 || sources.length !== unique.length) {
    throw new ConfigError(
      `Configuration: RATE_SOURCES must name exchanges of ${RATE_SOURCE_NAMES.join(', ')}, or ${STATIC} alone.`,
    );
  }
  return sources;
}

@Injectable()
export class Rates implements OnModuleInit, BeforeApplicationShutdown {
  private readonly sources: readonly RateSource[];
  private readonly reading: SharedReading<RateE8>;
  private readonly repeater: Repeater;

  constructor(
    @Inject(Config) private readonly config: Config,
    @Inject(Database) database: Database,
    @Inject(Log) private readonly log: Log,
  ) {
    this.sources = readSources(config.rates.sources);
    this.reading = new SharedReading(database, {
      name: 'trx-usd',
      refreshMs: config.rates.refreshSec * 1000,
      readLimitMs: READ_LIMIT_MS,
      read: () => this.ask(),
      encode: (rate) => ({ rate: rateText(rate) }),
      decode: readStored,
    });
    this.repeater = new Repeater({
      run: () => this.reading.refresh(),
      retryMs: this.reading.retryMs,
      onFailure: (err) => {
        log.warn({ err }, 'the TRX/USD rate could not be refreshed');
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

  /** The rate to convert at, and whether dollars may be shown; never throws. */
  current(): CurrentRate {
    const { fallback, maxAgeSec } = this.config.rates;
    if (this.sources.length === 0) return { rate: fallback, fresh: true };
    const latest = this.reading.latest();
    if (latest === undefined) return { rate: fallback, fresh: false };
    return { rate: latest.value, fresh: latest.ageMs <= maxAgeSec * 1000 };
  }

  /** Seconds since the rate was read; 0 with a static one, infinite before the first. */
  get ageSec(): number {
    if (this.sources.length === 0) return 0;
    return (this.reading.latest()?.ageMs ?? Number.POSITIVE_INFINITY) / 1000;
  }

  private async ask(): Promise<RateE8> {
    const urls = this.config.rates.sourceUrls;
    const answers = await Promise.allSettled(
      this.sources.map((source) => askSource(source, urls.get(source.name), SOURCE_TIMEOUT_MS)),
    );
    const rates = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    const faults = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []));
    for (const err of faults) this.log.debug({ err }, 'an exchange gave no rate');
    const rate = agreedRate(rates, Math.min(QUORUM, this.sources.length));
    if (rate === undefined) {
      throw new AggregateError(
        faults,
        `no rate: of ${this.sources.length.toString()} exchanges ${rates.length.toString()} answered, too few of them alike`,
      );
    }
    return rate;
  }
}

function readStored(json: unknown): RateE8 | undefined {
  if (typeof json !== 'object' || json === null || !('rate' in json)) return undefined;
  return typeof json.rate === 'string' ? parseRate(json.rate) : undefined;
}
