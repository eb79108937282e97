/**
 * Checks due auto-delegations and buys their refills. Only one check of each counts, with any number of workers
 * (AutoDelegationClaims, buy_for_auto_delegation). The load grows with the used addresses; all others are checked in a
 * slow round.
 */
import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { monotonicMs } from '../../platform/support/clock.js';
import { forEachConcurrently } from '../../platform/support/concurrency.js';
import { groupBy } from '../../platform/support/group-by.js';
import { RepeatedTask } from '../../platform/support/repeated-task.js';
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import { ApiError, messageOf } from '../../domain/errors.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { AddressCheck, READ_AGAIN_MS, unchangedState } from './address-check.js';
import { UseObserver } from './use-observer.js';
import { AutoDelegationClaims, type ClaimedAutoDelegation } from './auto-delegation-claims.js';

/** Interval between searches for due rows, when the last one found none. Uses that this worker marks end it. */
const REST_MS = 1000;
/** The same after it found some: rows under way are due again soon. */
const BUSY_REST_MS = 250;
const RETRY_MS = 1000;
const CHANGES_MAX = 100;
/** Claimed rows are checked immediately: rows wait in the table, where they are ordered, and not in this process. */
const CHECKS_MAX = 12;

@Injectable()
export class Refills extends RepeatedTask {
  private readonly checks: Counter<'kind'>;
  private roundAtMs = monotonicMs();
  /** Checks left in the current second of the slow round. */
  private roundChecksLeft = 0;
  /** Findings of the current run. Due rows must not poll absent nodes continuously. */
  private found = { rows: false, isChainAway: false };
  /** The chain time up to which changing rentals were made due. */
  private changedToMs = 0;

  constructor(
    private readonly claims: AutoDelegationClaims,
    private readonly addressCheck: AddressCheck,
    private readonly client: TronClient,
    private readonly config: Config,
    private readonly log: Log,
    uses: UseObserver,
    metrics: Metrics,
  ) {
    super(RETRY_MS, (err) => {
      log.error({ err }, 'failed to check auto-delegations');
    });
    uses.onMarked = () => {
      this.repeater.nudge();
    };
    this.checks = new Counter({
      name: 'auto_delegation_checks_total',
      help: 'Checks of auto-delegations, by `kind` (`round`: the slow one over all).',
      labelNames: ['kind'] as const,
      registers: [metrics.registry],
    });
  }

  protected override async runOnce(): Promise<number> {
    this.found = { rows: false, isChainAway: false };
    const hasMore = await this.checkDue();
    if (this.found.isChainAway) return RETRY_MS;
    if (hasMore) return 0;
    return this.found.rows ? BUSY_REST_MS : REST_MS;
  }

  /** Checks due rows. Returns true when more may be due. */
  async checkDue(): Promise<boolean> {
    const clockMs = this.client.pool.undisputedClockMs();
    if (clockMs === 0) return false;
    // Once per block; repeated immediately when a batch was full.
    if (clockMs > this.changedToMs && !(await this.claims.makeChangesDue(clockMs, CHANGES_MAX)))
      this.changedToMs = clockMs;
    if (this.repeater.isEnding) return false;
    const due = await this.claims.claimDue(CHECKS_MAX);
    this.checks.inc({ kind: 'due' }, due.length);
    await this.checkAll(due);
    if (this.isStopping()) return false;
    return (await this.checkNextOfRound()) || due.length === CHECKS_MAX;
  }

  /** A method instead of a property, since the answer may change while a check is awaited. */
  private isStopping(): boolean {
    return this.repeater.isEnding;
  }

  /** Checks the next rows of the slow round. Returns true when more may follow in this second. */
  private async checkNextOfRound(): Promise<boolean> {
    if (monotonicMs() - this.roundAtMs >= 1000) {
      this.roundAtMs = monotonicMs();
      this.roundChecksLeft = this.config.worker.autoDelegationChecksPerSec;
    }
    if (this.roundChecksLeft === 0) return false;
    const limit = Math.min(this.roundChecksLeft, CHECKS_MAX);
    const inRound = await this.claims.claimInRound(limit);
    this.roundChecksLeft = inRound.length < limit ? 0 : this.roundChecksLeft - limit;
    this.checks.inc({ kind: 'round' }, inRound.length);
    await this.checkAll(inRound);
    return this.roundChecksLeft > 0;
  }

  private async checkAll(claimed: readonly ClaimedAutoDelegation[]): Promise<void> {
    if (claimed.length === 0) return;
    this.found.rows = true;
    const legs = groupBy(await this.claims.legsOf(claimed), (leg) => leg.auto_id);
    await forEachConcurrently(claimed, CHECKS_MAX, async (row) => {
      try {
        await this.claims.record(row, await this.addressCheck.checkAndRefill(row, legs.get(row.id) ?? []));
      } catch (error) {
        const fault = { autoDelegationId: row.id.toString(), fault: messageOf(error) };
        if (isChainUnavailable(error)) {
          this.found.isChainAway = true;
          this.log.debug(fault, 'auto-delegation check postponed');
        } else this.log.error({ ...fault, err: error }, 'failed to check an auto-delegation');
        await this.claims.record(row, { ...unchangedState(row), dueInMs: READ_AGAIN_MS });
      }
    });
  }
}

const isChainUnavailable = (error: unknown): boolean =>
  error instanceof ChainUnavailableError || (error instanceof ApiError && error.code === 'CHAIN_UNAVAILABLE');
