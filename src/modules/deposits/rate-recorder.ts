/**
 * Records the rates of each minute: TRX as used for quotes, USDT as agreed by the exchanges that trade it against
 * dollars. A rate set by hand counts only outside the main network, for the current minute on chain.
 */
import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Rates } from '../billing/rates.js';
import { PEG_QUORUM_MIN, agreedRate, askSource, pegSources, rateQuorum } from '../billing/rate-sources.js';
import { nowMs } from '../../platform/support/clock.js';
import { solidHeaderOf, solidHeadOf, TronClient } from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import { RATE_SCALE, rateE8 } from '../../domain/units.js';
import { Log } from '../../platform/observability/logger.js';
import { Database } from '../../platform/database/database.js';
import { RateHistory } from './rate-history.js';

/** The id of the main network's first block. */
const MAIN_NETWORK = '00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc';
const SOURCE_TIMEOUT_MS = 4000;
const MINUTE_MS = 60_000;
const STATIC = 'static';

@Injectable()
export class RateRecorder implements BeforeApplicationShutdown {
  /** A private instance: exchanges are asked only where deposits are in use, and no start-up waits for them. */
  private readonly rates: Rates;
  private isAsking = false;
  private isMainNetwork: boolean | undefined;
  /** The latest minutes that this process has handled. */
  private trxMinute = -1;
  private usdtMinute = -1;

  constructor(
    database: Database,
    private readonly history: RateHistory,
    private readonly client: TronClient,
    private readonly config: Config,
    private readonly log: Log,
  ) {
    this.rates = new Rates(config, database, log);
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.rates.beforeApplicationShutdown();
  }

  /** Records the rates of the current minute. A failed exchange is retried in the next minute. */
  async record(): Promise<void> {
    const isStatic = this.config.rates.sources.includes(STATIC);
    if (isStatic && (await this.onMainNetwork())) return;
    const aheadMs = isStatic ? await this.solidMs() : 0;
    const minute = Math.floor(Math.max(nowMs(), aheadMs) / MINUTE_MS);
    const aheadAt = isStatic ? new Date(aheadMs) : undefined;
    if (!this.isAsking) await this.rates.onModuleInit();
    this.isAsking = true;
    const { rate, fresh } = this.rates.current();
    if (fresh && this.trxMinute !== minute) {
      await this.history.keep('TRX', rate, aheadAt);
      this.trxMinute = minute;
    }
    if (this.usdtMinute === minute) return;
    this.usdtMinute = minute;
    const usdt = isStatic ? rateE8(RATE_SCALE) : await this.askForPeg();
    if (usdt !== undefined) await this.history.keep('USDT', usdt, aheadAt);
  }

  /** Returns the chain's time. On a test network it may run ahead of ours. */
  private async solidMs(): Promise<number> {
    return this.client.pool.ask('the time', async (node) => (await solidHeadOf(node)).timestampMs);
  }

  private async askForPeg() {
    const { sources: names, sourceUrls } = this.config.rates;
    const sources = pegSources(names);
    const answers = await Promise.allSettled(
      sources.map((source) => askSource(source, sourceUrls.get(source.name), SOURCE_TIMEOUT_MS)),
    );
    const rates = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    const rate = agreedRate(rates, Math.max(PEG_QUORUM_MIN, rateQuorum(sources.length)));
    if (rate === undefined) {
      this.log.warn(
        { asked: sources.length, answered: rates.length, reason: 'too few exchanges agree' },
        'failed to get a USDT rate',
      );
    }
    return rate;
  }

  private async onMainNetwork(): Promise<boolean> {
    this.isMainNetwork ??= await this.client.pool.ask('the first block', async (node) => {
      return (await solidHeaderOf(node, 0))?.id === MAIN_NETWORK;
    });
    return this.isMainNetwork;
  }
}
