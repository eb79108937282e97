/** Checks one auto-delegated address, and buys its refill if one is due. */
import { Injectable } from '@nestjs/common';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Log } from '../../platform/observability/logger.js';
import { ReceiverCheck } from '../orders/receiver.js';
import type { Checked, ClaimedAutoDelegation, LegToAddress } from './auto-delegation-claims.js';
import { EnergyReadings, type EnergyReading } from './energy-readings.js';
import { RefillPurchases, type Outcome } from './refill-purchases.js';
import { planRefill, type RefillPlan } from './refill-plan.js';
import { RefillSize } from './refill-size.js';
import { isCredible, isJustDelegated, rentalsOf } from './rentals.js';

/** Retry interval for a node that answers late or lacks the block. */
export const READ_AGAIN_MS = 1000;
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
export class AddressCheck {
  constructor(
    private readonly energyReadings: EnergyReadings,
    private readonly refillSize: RefillSize,
    private readonly refillPurchases: RefillPurchases,
    private readonly receiverCheck: ReceiverCheck,
    private readonly client: TronClient,
    private readonly log: Log,
  ) {}

  /** Returns the result of the check to record. Throws ChainUnavailableError and database errors. */
  async checkAndRefill(row: ClaimedAutoDelegation, legs: readonly LegToAddress[]): Promise<Checked> {
    // The order announces its end itself.
    if (row.open_order_id !== null) return { ...unchangedState(row), checkInMs: ANNOUNCED_MS };
    const { pool } = this.client;
    const clockMs = pool.undisputedClockMs();
    if (clockMs === 0) return { ...unchangedState(row), dueInMs: READ_AGAIN_MS };
    // It may have been set without asking a node. Then its account may not exist, and nothing can be read of it.
    const refusal = row.purchases === 0n ? await this.receiverCheck.refusalOf(row.address, false) : undefined;
    if (refusal !== undefined && refusal.code !== 'CHAIN_UNAVAILABLE') return this.stateAfterRefusal(row, refusal.code);
    const reading = await this.energyReadings.read(row.address, Number(row.used_block ?? 0));
    // Less than our own delegations provide: the reading is stale or wrong.
    if (!isCredible(reading, legs)) return { ...unchangedState(row), dueInMs: READ_AGAIN_MS };
    const usedAtMs = row.used_at?.getTime() ?? clockMs;
    const { row: sized, transferEnergy, refusal: transferRefusal } = await this.refillSize.of(row);
    const plan = planOf({ row: sized, legs, reading, clockMs, usedAtMs });
    if (plan.refill !== undefined && isJustDelegated(legs, pool.head?.number ?? 0)) {
      return { ...unchangedState(row), dueInMs: NEXT_BLOCK_MS };
    }
    const outcome =
      transferRefusal === undefined
        ? await this.refillPurchases.buy(sized, plan, clockMs)
        : this.refillPurchases.refuse(plan, transferRefusal);
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
export function unchangedState(row: ClaimedAutoDelegation): Checked {
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
