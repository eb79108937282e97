/**
 * The chain figures that prices depend on: energy fee, ratio of stake to energy, and the energy of a token transfer.
 * One process reads them for all, and each serves them from memory. A stale state is refused (docs/interface.md §6).
 */
import { Injectable, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { activationCostSun } from '../../platform/chain/chain-parameters.js';
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { nowMs, withDeadline } from '../../platform/support/clock.js';
import { Config } from '../../platform/config/config.js';
import { ApiError } from '../../domain/errors.js';
import { Log } from '../../platform/observability/logger.js';
import { energy, sun } from '../../domain/units.js';
import { AgreedRatio, DOUBTFUL_RATIO, DOUBTFUL_RATIO_EFFECT } from '../pool/agreed-ratio.js';
import type { NetworkTotals } from '../pool/bandwidth-stake.js';
import { Repeater } from '../../platform/support/repeat.js';
import { Database } from '../../platform/database/database.js';
import { PoolWallet } from '../../platform/database/entities/pool-wallet.entity.js';
import { SharedReading } from '../../platform/database/shared-reading.js';
import { MARKET_OBSTACLES, marketObstacleOf, readingFailureText, type MarketObstacle } from './market-obstacles.js';
import {
  decodeChain,
  decodeSizing,
  encodeChain,
  encodeSizing,
  fieldsOf,
  type ChainState,
  type SizingState,
} from './market-records.js';
import { OBSTACLE_TEXTS, SIZING_OBSTACLES, type SizingObstacle } from './sizing-obstacles.js';
import { SizingProbe, obstacleOf, type MeasuredSizing } from './sizing-probe.js';
import type { SizingFigures } from '../../domain/sizing.js';

export interface MarketState extends ChainState {
  readonly sizing: SizingFigures;
}

/** A reading takes two or three node requests, and each may be retried at a second node. */
const QUESTIONS_MAX = 3;
/** Limit of a starting process's wait for its first state. Without one it serves only requests that need none. */
const START_LIMIT_MS = 3000;
/** Delay before a failed measurement is retried after a holder was learned. */
const SIZING_RETRY_MS = 2000;
const POOL_WALLETS_ASKED = 3;

@Injectable()
export class Market implements OnModuleInit, BeforeApplicationShutdown {
  private readonly chain: SharedReading<ChainState>;
  private readonly sizing: SharedReading<SizingState>;
  private readonly chainRepeater: Repeater;
  private readonly sizingRepeater: Repeater;
  private readonly probe: SizingProbe;
  private readonly ratio: AgreedRatio;

  constructor(
    private readonly config: Config,
    private readonly tron: TronClient,
    database: Database,
    @InjectRepository(PoolWallet) private readonly pool: Repository<PoolWallet>,
    private readonly log: Log,
  ) {
    this.ratio = new AgreedRatio(tron, (nodes) => log.warn({ nodes, effect: DOUBTFUL_RATIO_EFFECT }, DOUBTFUL_RATIO));
    this.probe = new SizingProbe(tron, config.chain.tokenContract, config.market.sizingHolders);
    const readLimitMs = config.chain.readTimeoutMs * QUESTIONS_MAX;
    const refreshMs = config.market.sizingRefreshSec * 1000;
    this.chain = new SharedReading(database, {
      name: 'chain',
      refreshMs: config.market.refreshSec * 1000,
      readLimitMs,
      read: () => this.readChain(),
      encode: encodeChain,
      decode: (json) => decodeChain(json, config.market.parameterBounds),
      describeFailure: (error) => ({ cause: marketObstacleOf(error), reason: readingFailureText(error) }),
    });
    this.sizing = new SharedReading(database, {
      name: 'sizing',
      refreshMs,
      readLimitMs: readLimitMs * QUESTIONS_MAX,
      read: async () => this.readSizing(),
      encode: encodeSizing,
      decode: decodeSizing,
      describeFailure: (error) => ({ cause: obstacleOf(error) }),
      dueAgeMs: (latest) =>
        latest?.figures === undefined && this.probe.knowsMore ? Math.min(SIZING_RETRY_MS, refreshMs) : refreshMs,
    });
    this.chainRepeater = background(this.chain, (err) => {
      const effect = 'nothing is sold once the last reading is too old';
      const fields = { err, cause: marketObstacleOf(err), reason: readingFailureText(err), effect };
      log.warn(fields, 'failed to read the state of the chain');
    });
    this.sizingRepeater = background(this.sizing, (err) => {
      this.warnOf(obstacleOf(err), this.sizing.latest()?.value.figures, err);
    });
  }

  async onModuleInit(): Promise<void> {
    const started = Promise.all([this.chainRepeater.start(), this.sizingRepeater.start()]);
    await withDeadline(started, START_LIMIT_MS, 'the first state of the chain').catch(() => undefined);
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.chainRepeater.stop(), this.sizingRepeater.stop()]);
  }

  /** Returns the state to price at. Throws ApiError CHAIN_UNAVAILABLE if there is none that is fresh enough. */
  current(): MarketState {
    const latest = this.chain.latest();
    const { maxAgeSec, refreshSec } = this.config.market;
    if (latest === undefined || latest.ageMs > maxAgeSec * 1000) {
      throw new ApiError('CHAIN_UNAVAILABLE', 'The state of the chain is unknown at present. Try again shortly.', {
        retryAfterSec: refreshSec,
      });
    }
    return { ...latest.value, sizing: this.sizingFigures() };
  }

  /** Seconds since the state was read; infinite before the first reading. */
  get ageSec(): number {
    return (this.chain.latest()?.ageMs ?? Number.POSITIVE_INFINITY) / 1000;
  }

  /** The reason why the chain's fees cannot be read now, or undefined. Sales stop once the last reading is too old. */
  get obstacle(): MarketObstacle | undefined {
    return MARKET_OBSTACLES.find((each) => each === fieldsOf(this.chain.failure)['cause']);
  }

  /** Seconds since a token transfer was last measured; infinite before the first measurement. */
  get sizingAgeSec(): number {
    const figures = this.sizing.latest()?.value.figures;
    return figures === undefined ? Number.POSITIVE_INFINITY : Math.max(0, nowMs() - figures.measuredAtMs) / 1000;
  }

  /** Seconds between two measurements of a token transfer. */
  get sizingRefreshSec(): number {
    return this.config.market.sizingRefreshSec;
  }

  /** The reason why token transfers cannot be measured now, or undefined. */
  get sizingObstacle(): SizingObstacle | undefined {
    const failed = SIZING_OBSTACLES.find((each) => each === fieldsOf(this.sizing.failure)['cause']);
    return failed ?? this.sizing.latest()?.value.obstacle;
  }

  /** Adds an address that holds the reference token, from which transfers can be simulated. */
  learnHolder(address: string): void {
    const isNews = this.probe.learn(address);
    if (isNews && this.sizing.latest()?.value.figures === undefined) this.sizingRepeater.nudge();
  }

  /** Returns the last measured figures, at any age. The configured figures are only estimates, so they come second. */
  private sizingFigures(): SizingFigures {
    const { warmEnergy, coldEnergy } = this.config.market;
    return this.sizing.latest()?.value.figures ?? { warmEnergy: energy(warmEnergy), coldEnergy: energy(coldEnergy) };
  }

  private async readChain(): Promise<ChainState> {
    const [parameters, ratio] = await Promise.all([
      this.tron.chainParameters(this.config.market.parameterBounds),
      this.readRatio(),
    ]);
    return {
      energyFeeSun: parameters.energyFeeSun,
      ratio,
      bandwidthRatio: ratio,
      createAccountFeeSun: sun(activationCostSun(parameters)),
      transactionFeeSunPerByte: parameters.transactionFeeSunPerByte,
      maxFeeLimitSun: parameters.maxFeeLimitSun,
    };
  }

  /**
   * TRON: the resources of any existing account include the network's totals; the token contract is such an account.
   */
  private async readRatio(): Promise<NetworkTotals> {
    try {
      return await this.ratio.read(this.config.chain.tokenContract);
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      const [wallet] = await this.poolWallets();
      if (wallet === undefined) throw error;
      return await this.ratio.read(wallet);
    }
  }

  private async readSizing(): Promise<SizingState> {
    const last = this.sizing.latest()?.value.figures;
    const wallets = await this.poolWallets().catch(() => []);
    const measuredAtMs = nowMs();
    const measured = await this.probe.measure([...(last === undefined ? [] : [last.holder]), ...wallets]);
    if (typeof measured !== 'string') return { figures: { ...measured, measuredAtMs }, obstacle: undefined };
    this.warnOf(measured, last);
    return { figures: last, obstacle: measured };
  }

  private warnOf(obstacle: SizingObstacle, last: MeasuredSizing | undefined, err?: unknown): void {
    const use = last === undefined ? 'WARM_ENERGY and COLD_ENERGY' : 'the last figures';
    const { says, todo } = OBSTACLE_TEXTS[obstacle];
    const fields = { obstacle, reason: says, todo, effect: `orders are sized by ${use}`, ageSec: this.sizingAgeSec };
    this.log.warn({ ...fields, ...(err === undefined ? {} : { err }) }, 'failed to measure token transfers');
  }

  private async poolWallets(): Promise<string[]> {
    const query = { select: { address: true }, order: { id: 'ASC' }, take: POOL_WALLETS_ASKED } as const;
    return (await this.pool.find(query)).map(({ address }) => address);
  }
}

function background<T>(reading: SharedReading<T>, onFailure: (error: unknown) => void): Repeater {
  return new Repeater({ run: () => reading.refresh(), retryMs: reading.retryMs, onFailure });
}
