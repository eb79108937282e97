/**
 * Checks due auto-delegations and buys their refills. Only one check of each counts, with any number of workers
 * (AutoDelegationClaims, buy_for_auto_delegation). The load grows with the used addresses; all others are checked in a
 * slow round.
 */
import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { monotonicMs } from '../../platform/support/clock.js';
import { forEachConcurrently } from '../../platform/support/concurrency.js';
import { RepeatedTask } from '../../platform/support/repeated-task.js';
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import { ApiError, messageOf } from '../../domain/errors.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { ReceiverCheck } from '../orders/receiver.js';
import {
  AutoDelegationClaims,
  type Checked,
  type ClaimedAutoDelegation,
  type LegToAddress,
} from './auto-delegation-claims.js';
import { EnergyReadings, type EnergyReading } from './energy-readings.js';
import { RefillPurchases, type Outcome } from './refill-purchases.js';
import { planRefill, type RefillPlan } from './refill-plan.js';
import { RefillSize } from './refill-size.js';
import { grouped, isCredible, isJustDelegated, rentalsOf } from './rentals.js';

/** Interval between searches for due rows. */
const REST_MS = 250;
const RETRY_MS = 1000;
const CHANGES_MAX = 100;
/** Claimed rows are checked immediately: rows wait in the table, where they are ordered, and not in this process. */
const CHECKS_MAX = 12;
/** Retry interval for a node that answers late or lacks the block. */
const READ_AGAIN_MS = 1000;
/** TRON: a block comes every three seconds. */
const NEXT_BLOCK_MS = 3000;
/** A row that waits for an announcement of another part of the service is checked after this long anyway. */
const ANNOUNCED_MS = 60_000;
/** The minimum interval of the slow round for each row. */
const ROUND_MS = 600_000;
/** A failed purchase is retried after 15, 30, 60 and 120 s, and then at each turn in the round. */
const PAUSED_MS = 15_000;
const PAUSED_TRIES = 4;
const PAUSED_MS_MAX = 300_000;

@Injectable()
export class Refills extends RepeatedTask {
  private readonly checks: Counter<'kind'>;
  private roundAtMs = monotonicMs();
  /** Checks left in the current second of the slow round. */
  private roundChecksLeft = 0;
  /** Longer while nodes are away, so that due rows do not poll them continuously. */
  private restMs = REST_MS;
  /** The chain time up to which changing rentals were made due. */
  private changedToMs = 0;

  constructor(
    private readonly claims: AutoDelegationClaims,
    private readonly readings: EnergyReadings,
    private readonly sizes: RefillSize,
    private readonly purchases: RefillPurchases,
    private readonly receivers: ReceiverCheck,
    private readonly client: TronClient,
    private readonly config: Config,
    private readonly log: Log,
    metrics: Metrics,
  ) {
    super(RETRY_MS, (err) => {
      log.error({ err }, 'failed to check auto-delegations');
    });
    this.checks = new Counter({
      name: 'auto_delegation_checks_total',
      help: 'Checks of auto-delegations, by `kind`: `due`, or the slow `round` over all.',
      labelNames: ['kind'] as const,
      registers: [metrics.registry],
    });
  }

  protected override async runOnce(): Promise<number> {
    this.restMs = REST_MS;
    return (await this.checkDue()) && this.restMs === REST_MS ? 0 : this.restMs;
  }

  /** Checks due rows. Returns true when more may be due. */
  async checkDue(): Promise<boolean> {
    const { clockMs } = this;
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

  /** The chain time that no node contradicts; 0 while it is unknown. */
  private get clockMs(): number {
    const { agreement, head } = this.client.pool;
    if (agreement.dispute !== undefined || head === undefined) return 0;
    return Math.min(agreement.clockMs, head.timestampMs);
  }

  private async checkAll(claimed: readonly ClaimedAutoDelegation[]): Promise<void> {
    if (claimed.length === 0) return;
    const legs = grouped(await this.claims.legsOf(claimed), (leg) => leg.auto_id);
    await forEachConcurrently(claimed, CHECKS_MAX, async (row) => {
      try {
        await this.claims.record(row, await this.readAndRefill(row, legs.get(row.id) ?? []));
      } catch (error) {
        const fault = { autoDelegationId: row.id.toString(), fault: messageOf(error) };
        if (isChainUnavailable(error)) {
          this.restMs = RETRY_MS;
          this.log.debug(fault, 'auto-delegation check postponed');
        } else this.log.error({ ...fault, err: error }, 'failed to check an auto-delegation');
        await this.claims.record(row, { ...unchangedState(row), dueInMs: READ_AGAIN_MS });
      }
    });
  }

  /** Throws ChainUnavailableError and database errors. */
  private async readAndRefill(row: ClaimedAutoDelegation, legs: readonly LegToAddress[]): Promise<Checked> {
    // The order announces its end itself.
    if (row.open_order_id !== null) return { ...unchangedState(row), checkInMs: ANNOUNCED_MS };
    const { clockMs } = this;
    if (clockMs === 0) return { ...unchangedState(row), dueInMs: READ_AGAIN_MS };
    // It may have been set without asking a node. Then its account may not exist, and nothing can be read of it.
    const refusal = row.purchases === 0n ? await this.receivers.refusalOf(row.address) : undefined;
    if (refusal !== undefined && refusal.code !== 'CHAIN_UNAVAILABLE') return this.stateAfterRefusal(row, refusal.code);
    const reading = await this.readings.read(row.address, Number(row.used_block ?? 0));
    // Less than our own delegations provide: the reading is stale or wrong.
    if (!isCredible(reading, legs)) return { ...unchangedState(row), dueInMs: READ_AGAIN_MS };
    const usedAtMs = row.used_at?.getTime() ?? clockMs;
    const { row: sized, transferEnergy, refusal: transferRefusal } = await this.sizes.of(row);
    const plan = planOf({ row: sized, legs, reading, clockMs, usedAtMs });
    if (plan.refill !== undefined && isJustDelegated(legs, this.client.pool.head?.number ?? 0)) {
      return { ...unchangedState(row), dueInMs: NEXT_BLOCK_MS };
    }
    const outcome =
      transferRefusal === undefined
        ? await this.purchases.buy(sized, plan, clockMs)
        : this.purchases.refuse(plan, transferRefusal);
    return { ...this.stateAfterPurchase(row, { plan, outcome, usedAtMs, legs, reading }), transferEnergy };
  }

  private stateAfterPurchase(
    row: ClaimedAutoDelegation,
    { plan, outcome, usedAtMs, legs, reading }: PurchaseResult,
  ): Checked {
    const { isAsleep, usable, changeAtMs } = plan;
    const end = { isAsleep, usableEnergy: usable, usedAtMs, changeAtMs, failures: 0, pauseReason: undefined };
    switch (outcome.kind) {
      case 'nothing':
        if (changeAtMs === undefined) return { ...end, dueInMs: undefined, checkInMs: undefined };
        return { ...end, dueInMs: isUncertain(row, legs, reading) ? NEXT_BLOCK_MS : undefined, checkInMs: ROUND_MS };
      case 'ordered':
        return { ...end, dueInMs: undefined, checkInMs: ANNOUNCED_MS };
      case 'again':
        return { ...end, ...pauseOf(row), dueInMs: outcome.inMs, checkInMs: undefined };
      case 'refused':
        return { ...this.stateAfterRefusal(row, outcome.reason), isAsleep, usableEnergy: usable, usedAtMs, changeAtMs };
    }
  }

  private stateAfterRefusal(row: ClaimedAutoDelegation, reason: string): Checked {
    if (row.pause_reason !== reason)
      this.log.info({ autoDelegationId: row.id.toString(), reason }, 'auto-delegation paused');
    return { ...unchangedState(row), ...nextTry(row.failures), failures: row.failures + 1, pauseReason: reason };
  }
}

const isChainUnavailable = (error: unknown): boolean =>
  error instanceof ChainUnavailableError || (error instanceof ApiError && error.code === 'CHAIN_UNAVAILABLE');

interface PurchaseResult {
  readonly plan: RefillPlan;
  readonly outcome: Outcome;
  readonly usedAtMs: number;
  readonly legs: readonly LegToAddress[];
  readonly reading: EnergyReading;
}

interface CheckInput {
  readonly row: ClaimedAutoDelegation;
  readonly legs: readonly LegToAddress[];
  readonly reading: EnergyReading;
  readonly clockMs: number;
  readonly usedAtMs: number;
}

function planOf({ row, legs, reading, clockMs, usedAtMs }: CheckInput): RefillPlan {
  return planRefill({
    terms: {
      keepEnergy: row.keep_energy,
      refillBelow: row.refill_below,
      durationSec: row.duration_sec,
      idleAfterSec: row.idle_after_sec,
      untilMs: row.until?.getTime(),
    },
    clockMs,
    usedAtMs,
    reading,
    rentals: rentalsOf(legs, reading),
  });
}

/**
 * Returns true if the next block may show less energy. A node behind the same name may not know a recent use or a
 * rental's end yet. Energy bought by others may never arrive, and nothing announces that.
 */
function isUncertain(row: ClaimedAutoDelegation, legs: readonly LegToAddress[], { block }: EnergyReading): boolean {
  if (row.change_at === null) return true;
  if (row.used_block !== null && Number(row.used_block) >= block - 1) return true;
  return legs.some((leg) => !leg.is_own && (leg.delegated_in === null || Number(leg.delegated_in) > block));
}

/** Returns the time of the next attempt after this many consecutive failures. */
function nextTry(failures: number): Pick<Checked, 'dueInMs' | 'checkInMs'> {
  const waitMs = Math.min(PAUSED_MS * 2 ** failures, PAUSED_MS_MAX);
  return failures < PAUSED_TRIES
    ? { dueInMs: waitMs, checkInMs: undefined }
    : { dueInMs: undefined, checkInMs: waitMs };
}

/** Keeps the previous state when the check found nothing out. */
function unchangedState(row: ClaimedAutoDelegation): Checked {
  return {
    ...pauseOf(row),
    isAsleep: row.asleep,
    usableEnergy: undefined,
    usedAtMs: undefined,
    changeAtMs: undefined,
    dueInMs: undefined,
    checkInMs: undefined,
  };
}

function pauseOf(row: ClaimedAutoDelegation): Pick<Checked, 'pauseReason' | 'failures'> {
  return { pauseReason: row.pause_reason ?? undefined, failures: row.failures };
}
