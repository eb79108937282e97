/**
 * Checks auto-delegations that are due and buys what they need: one at a time for each, however many workers there are
 * (AutoDelegationClaims, buy_for_auto_delegation). Those in use cost what their use costs; all others have their turn in
 * a slow round.
 */
import { Injectable, type BeforeApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { Counter } from 'prom-client';
import { monotonicMs } from '../base/clock.js';
import { forEachConcurrently } from '../base/concurrency.js';
import { Repeater } from '../base/repeat.js';
import { ChainUnavailableError } from '../chain/errors.js';
import { TronClient } from '../chain/tron.client.js';
import { Config } from '../config/config.js';
import { messageOf } from '../domain/errors.js';
import { Log } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
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
import { grouped, isCredible, isJustDelegated, rentalsOf } from './rentals.js';

/** How soon what is due is seen. */
const REST_MS = 250;
const RETRY_MS = 1000;
const CHANGES_MAX = 100;
/** What is claimed is checked at once: it waits in the table, where it is in turn, and not here. */
const AT_ONCE = 12;
/** A node that answers late, or has not the block yet, is asked once more so soon. */
const READ_AGAIN_MS = 1000;
/** TRON: a block comes every three seconds. */
const NEXT_BLOCK_MS = 3000;
/** Whatever waits for something that another part of the service announces is checked after this long all the same. */
const ANNOUNCED_MS = 60_000;
/** The slow round comes to each no sooner than this. */
const ROUND_MS = 600_000;
/** What could not be bought is tried again after 15, 30, 60 and 120 s, and then each time its turn comes in the round. */
const PAUSED_MS = 15_000;
const PAUSED_TRIES = 4;
const PAUSED_MS_MAX = 300_000;

@Injectable()
export class Refills implements BeforeApplicationShutdown, OnModuleDestroy {
  private readonly repeater: Repeater;
  private readonly checks: Counter<'kind'>;
  private roundAtMs = monotonicMs();
  /** How many may still be checked in this second's part of the round. */
  private turnsLeft = 0;
  /** Longer while nodes are away, so that they are not asked about everything that is due again and again. */
  private restMs = REST_MS;
  /** Rentals that change by then, by the chain's clock, were made due. */
  private changedToMs = 0;

  constructor(
    private readonly claims: AutoDelegationClaims,
    private readonly readings: EnergyReadings,
    private readonly purchases: RefillPurchases,
    private readonly receivers: ReceiverCheck,
    private readonly client: TronClient,
    private readonly config: Config,
    private readonly log: Log,
    metrics: Metrics,
  ) {
    this.checks = new Counter({
      name: 'auto_delegation_checks_total',
      help: 'Checks of auto-delegations by this worker: due at once, or in the slow round over all.',
      labelNames: ['kind'] as const,
      registers: [metrics.registry],
    });
    this.repeater = new Repeater({
      run: async () => {
        this.restMs = REST_MS;
        return (await this.pass()) && this.restMs === REST_MS ? 0 : this.restMs;
      },
      retryMs: RETRY_MS,
      onFailure: (err) => {
        log.error({ err }, 'auto-delegations could not be checked');
      },
    });
  }

  start(): void {
    void this.repeater.start();
  }

  /** Claims nothing more. Nest calls this hook of all modules before it waits for the work of any. */
  onModuleDestroy(): void {
    this.repeater.end();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.repeater.stop();
  }

  /** Checks what is due. True when there may be more. */
  async pass(): Promise<boolean> {
    const { clockMs } = this;
    if (clockMs === 0) return false;
    // Once for each block; again at once where there was more than a batch of them.
    if (clockMs > this.changedToMs && !(await this.claims.makeChangesDue(clockMs, CHANGES_MAX)))
      this.changedToMs = clockMs;
    const due = await this.claims.claimDue(AT_ONCE);
    this.checks.inc({ kind: 'due' }, due.length);
    await this.check(due);
    if (this.repeater.isEnding) return false;
    return (await this.goOnRound()) || due.length === AT_ONCE;
  }

  /** Checks the next of the slow round. True when there may be more in this second. */
  private async goOnRound(): Promise<boolean> {
    if (monotonicMs() - this.roundAtMs >= 1000) {
      this.roundAtMs = monotonicMs();
      this.turnsLeft = this.config.worker.autoDelegationChecksPerSec;
    }
    if (this.turnsLeft === 0) return false;
    const limit = Math.min(this.turnsLeft, AT_ONCE);
    const inRound = await this.claims.claimInRound(limit);
    this.turnsLeft = inRound.length < limit ? 0 : this.turnsLeft - limit;
    this.checks.inc({ kind: 'round' }, inRound.length);
    await this.check(inRound);
    return this.turnsLeft > 0;
  }

  /** The chain's time that no node contradicts; 0 while that is not known. */
  private get clockMs(): number {
    const { agreement, head } = this.client.pool;
    if (agreement.dispute !== undefined || head === undefined) return 0;
    return Math.min(agreement.clockMs, head.timestampMs);
  }

  private async check(claimed: readonly ClaimedAutoDelegation[]): Promise<void> {
    if (claimed.length === 0) return;
    const legs = grouped(await this.claims.legsOf(claimed), (leg) => leg.auto_id);
    await forEachConcurrently(claimed, AT_ONCE, async (row) => {
      try {
        await this.claims.record(row, await this.checkOne(row, legs.get(row.id) ?? []));
      } catch (error) {
        const fault = { autoDelegationId: row.id.toString(), fault: messageOf(error) };
        if (error instanceof ChainUnavailableError) {
          this.restMs = RETRY_MS;
          this.log.debug(fault, 'an auto-delegation waits for the nodes');
        } else this.log.error({ ...fault, err: error }, 'an auto-delegation could not be checked');
        await this.claims.record(row, { ...unchanged(row), dueInMs: READ_AGAIN_MS });
      }
    });
  }

  /** Throws ChainUnavailableError, and what the database throws. */
  private async checkOne(row: ClaimedAutoDelegation, legs: readonly LegToAddress[]): Promise<Checked> {
    // Its end is announced by the order itself.
    if (row.open_order_id !== null) return { ...unchanged(row), checkInMs: ANNOUNCED_MS };
    const { clockMs } = this;
    if (clockMs === 0) return { ...unchanged(row), dueInMs: READ_AGAIN_MS };
    // Set where no node was asked, it may have no account yet, and nothing of it can be read.
    const refusal = row.purchases === 0n ? await this.receivers.refusalOf(row.address) : undefined;
    if (refusal !== undefined && refusal.code !== 'CHAIN_UNAVAILABLE') return this.refused(row, refusal.code);
    const reading = await this.readings.read(row.address, Number(row.used_block ?? 0));
    // Less than our own delegations give: the reading is of another time, or wrong.
    if (!isCredible(reading, legs)) return { ...unchanged(row), dueInMs: READ_AGAIN_MS };
    const usedAtMs = row.used_at?.getTime() ?? clockMs;
    const plan = planOf({ row, legs, reading, clockMs, usedAtMs });
    if (plan.refill !== undefined && isJustDelegated(legs, this.client.pool.head?.number ?? 0)) {
      return { ...unchanged(row), dueInMs: NEXT_BLOCK_MS };
    }
    const outcome = await this.purchases.buy(row, plan, clockMs);
    return this.ended(row, { plan, outcome, usedAtMs, legs, reading });
  }

  private ended(row: ClaimedAutoDelegation, { plan, outcome, usedAtMs, legs, reading }: Result): Checked {
    const { asleep, usable, changeAtMs } = plan;
    const end = { asleep, usableEnergy: usable, usedAtMs, changeAtMs, failures: 0, pauseReason: undefined };
    switch (outcome.kind) {
      case 'nothing':
        if (changeAtMs === undefined) return { ...end, dueInMs: undefined, checkInMs: undefined };
        return { ...end, dueInMs: isUncertain(row, legs, reading) ? NEXT_BLOCK_MS : undefined, checkInMs: ROUND_MS };
      case 'ordered':
        return { ...end, dueInMs: undefined, checkInMs: ANNOUNCED_MS };
      case 'again':
        return { ...end, ...pauseOf(row), dueInMs: outcome.inMs, checkInMs: undefined };
      case 'refused':
        return { ...this.refused(row, outcome.reason), asleep, usableEnergy: usable, usedAtMs, changeAtMs };
    }
  }

  private refused(row: ClaimedAutoDelegation, reason: string): Checked {
    if (row.pause_reason !== reason)
      this.log.info({ autoDelegationId: row.id.toString(), reason }, 'an auto-delegation is paused');
    return { ...unchanged(row), ...nextTry(row.failures), failures: row.failures + 1, pauseReason: reason };
  }
}

interface Result {
  readonly plan: RefillPlan;
  readonly outcome: Outcome;
  readonly usedAtMs: number;
  readonly legs: readonly LegToAddress[];
  readonly reading: EnergyReading;
}

interface Known {
  readonly row: ClaimedAutoDelegation;
  readonly legs: readonly LegToAddress[];
  readonly reading: EnergyReading;
  readonly clockMs: number;
  readonly usedAtMs: number;
}

function planOf({ row, legs, reading, clockMs, usedAtMs }: Known): RefillPlan {
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
 * Whether the next block may show less: of a use or of a rental's end a moment ago a node behind the same name may not know
 * yet, and what others bought may never arrive, which nothing announces.
 */
function isUncertain(row: ClaimedAutoDelegation, legs: readonly LegToAddress[], { block }: EnergyReading): boolean {
  if (row.change_at === null) return true;
  if (row.used_block !== null && Number(row.used_block) >= block - 1) return true;
  return legs.some((leg) => !leg.is_own && (leg.delegated_in === null || Number(leg.delegated_in) > block));
}

/** Of what could not be bought, so many times in a row before. */
function nextTry(failures: number): Pick<Checked, 'dueInMs' | 'checkInMs'> {
  const waitMs = Math.min(PAUSED_MS * 2 ** failures, PAUSED_MS_MAX);
  return failures < PAUSED_TRIES
    ? { dueInMs: waitMs, checkInMs: undefined }
    : { dueInMs: undefined, checkInMs: waitMs };
}

/** What it had before, when nothing could be found out. */
function unchanged(row: ClaimedAutoDelegation): Checked {
  return {
    ...pauseOf(row),
    asleep: row.asleep,
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
