/** Auto-delegations as callers set them, and as answers and events show them (docs/interface.md §31). */
import { IsInteger, IsText, OneOf, Optional } from '../../platform/http/body/member-rules.js';
import { PageQuery } from '../../platform/http/body/page-query.js';
import { invalidField } from '../../domain/errors.js';
import { momentOf } from '../../domain/moment.js';
import { credits, energy, type Credits, type Energy } from '../../domain/units.js';
import { IsDuration, IsEnergy, type FeeLimitMembers } from '../quotes/quote.dto.js';
import { TransferMembers, transferOf } from '../quotes/transfer.dto.js';
import type { TokenTransfer } from '../quotes/transfer-sizing.js';
import { usualDurationSec } from './duration-choice.js';
import type { StoredTransfer } from './refill-size.js';
import { measuredUses } from './use-history.js';

const DAY_SEC = 86_400;
const IDLE_AFTER = { min: 60, max: 31_536_000 };
const AMOUNT_MAX = Number.MAX_SAFE_INTEGER;

export class AutoDelegationRequest extends TransferMembers {
  @IsEnergy(
    'Energy to keep on the address, from any source. A refill restores this amount, or what transfer_to needs if that is more.',
  )
  declare readonly keep_energy: number;

  @Optional()
  @IsInteger(
    ({ sales }) => ({ min: 1, max: sales.energyMax }),
    'Buys a refill when less than this is usable. At most `keep_energy`; default 80 % of it.',
  )
  declare readonly refill_below?: number;

  @Optional()
  @IsDuration({
    defaultOf: usualDurationSec,
    description:
      'Seconds of each rental, at most the longest duration on sale. If absent, the service begins with the default ' +
      'and chooses a longer one once the measured uses of the address make that cheaper for each use.',
  })
  declare readonly duration_sec?: number;

  @Optional()
  @IsInteger(() => ({ min: 1, max: AMOUNT_MAX }), 'Highest price to pay, in sun per energy.')
  declare readonly max_sun_per_energy?: number;

  @IsInteger(() => ({ min: 0, max: AMOUNT_MAX }), 'Most credits to spend in a UTC day; 0 buys nothing.')
  declare readonly daily_cap_credits: number;

  @Optional()
  @IsInteger(() => IDLE_AFTER, 'Seconds without use after which it lets its rentals end and sleeps. Default 86 400.')
  declare readonly idle_after_sec?: number;

  @Optional()
  @IsText({
    maxLength: 27,
    check: (value) =>
      value.includes('T') && momentOf(value) !== undefined
        ? undefined
        : 'must be a UTC time, such as 2026-12-31T12:00:00Z',
    openApi: { format: 'date-time', examples: ['2026-12-31T12:00:00Z'] },
    description: 'Chain time after which nothing is bought. Without end if absent.',
  })
  declare readonly until?: string;
}

/** The terms for an address, with all defaults resolved. */
export interface AutoDelegationTerms {
  readonly keepEnergy: Energy;
  readonly refillBelow: Energy;
  /** Sizes refills, of which `keepEnergy` and `refillBelow` are then the least. */
  readonly transfer: TokenTransfer | undefined;
  readonly durationSec: number;
  /** True if the service chooses the duration of each purchase, beginning with `durationSec`. */
  readonly isDurationChosen: boolean;
  readonly maxSunPerEnergy: bigint | null;
  readonly dailyCapCredits: Credits;
  readonly idleAfterSec: number;
  readonly until: Date | null;
}

/** Resolves the defaults. Throws 400 for a `refill_below` above `keep_energy`, and for members of a transfer without one. */
export function termsOf(request: AutoDelegationRequest, longestSec: number): AutoDelegationTerms {
  const transfer = transferOf(request);
  const keepEnergy = energy(request.keep_energy);
  const usual = (keepEnergy * 4n) / 5n;
  const refillBelow = energy(request.refill_below ?? (usual > 0n ? usual : 1n));
  if (refillBelow > keepEnergy) throw invalidField('refill_below', 'must be at most keep_energy');
  const { max_sun_per_energy: maxSun, until } = request;
  return {
    keepEnergy,
    refillBelow,
    transfer,
    durationSec: request.duration_sec ?? usualDurationSec(longestSec),
    isDurationChosen: request.duration_sec === undefined,
    maxSunPerEnergy: maxSun === undefined ? null : BigInt(maxSun),
    dailyCapCredits: credits(request.daily_cap_credits),
    idleAfterSec: request.idle_after_sec ?? DAY_SEC,
    until: until === undefined ? null : new Date(until),
  };
}

export const AUTO_DELEGATION_STATUSES = ['active', 'asleep', 'paused', 'ended'] as const;
export type AutoDelegationStatus = (typeof AUTO_DELEGATION_STATUSES)[number];

export class AutoDelegationListQuery extends PageQuery {
  @OneOf(AUTO_DELEGATION_STATUSES, 'Only auto-delegations in this status.')
  declare readonly status?: AutoDelegationStatus;
}

/** The shown members of a row, as Postgres renders it to JSON. Amounts are below 2^53. */
export interface AutoDelegationJson {
  readonly id: number;
  readonly api_key_id: string;
  readonly address: string;
  readonly keep_energy: number;
  readonly refill_below: number;
  readonly duration_sec: number;
  readonly max_sun_per_energy: number | null;
  readonly daily_cap_credits: number;
  readonly idle_after_sec: number;
  readonly until: string | null;
  readonly asleep: boolean;
  readonly pause_reason: string | null;
  readonly paused_at: string | null;
  readonly purchases: number;
  readonly open_order_id: number | null;
  readonly spent_credits: number;
  readonly spent_on: string;
  readonly used_at: string | null;
  readonly usable_energy: number | null;
  readonly checked_at: string | null;
  /**
   * The end of one of its rentals, by the chain's clock. `due_at` and `check_at`: the next checks, by the database's
   * clock.
   */
  readonly change_at: string | null;
  readonly due_at: string | null;
  readonly check_at: string | null;
  readonly created_at: string;
  readonly changed_at: string;
  /** Absent in events that are older than the baseline of the schema. */
  readonly auto_duration?: boolean;
  readonly uses_on?: string | null;
  readonly daily_uses?: readonly number[] | null;
  readonly transfer?: StoredTransfer | null;
  readonly transfer_energy?: number | null;
}

/** Members that do not apply are absent, never null. */
export interface AutoDelegationBody {
  readonly id: string;
  readonly address: string;
  readonly status: AutoDelegationStatus;
  readonly keep_energy: number;
  readonly refill_below: number;
  readonly transfer_to?: string;
  readonly transfer_amount?: string;
  readonly token?: string;
  readonly transfer_energy?: number;
  readonly duration_sec: number;
  readonly max_sun_per_energy?: number;
  readonly daily_cap_credits: number;
  readonly idle_after_sec: number;
  readonly until?: string;
  readonly pause?: { readonly reason: string; readonly since: string };
  readonly usable_energy?: number;
  readonly checked_at?: string;
  readonly used_at?: string;
  readonly measured_uses?: { readonly days: number; readonly used_days: number; readonly uses: number };
  readonly purchases: number;
  readonly spent_today_credits: number;
  readonly open_order?: string;
  readonly created_at: string;
  readonly changed_at: string;
}

/** Only for a single one that is set or read; absent while the market is unknown. */
export interface AutoDelegationCosts {
  readonly idle_cost_credits_per_day?: number;
  readonly cost_per_refill_credits?: number;
}

/** A row of the price table that the auto-delegation can buy its `keep_energy` by. */
export interface DurationCost {
  readonly duration_sec: number;
  readonly sun_per_energy: number;
  readonly expected_uses: number;
  readonly price_sun: number;
  readonly price_per_use_sun: number;
}

/** As AutoDelegationCosts. The fee limit is that of a transaction that spends `keep_energy`. */
export interface DurationCosts extends Partial<FeeLimitMembers> {
  /** Only if the request named no duration. */
  readonly chosen_duration_sec?: number;
  readonly durations?: readonly DurationCost[];
}

export type PricedAutoDelegationBody = AutoDelegationBody & AutoDelegationCosts & DurationCosts;

/** The moment at which a row is shown: by the service's clock, and by the chain's clock if known. */
export interface Shown {
  readonly at: Date;
  readonly chainAt?: Date | undefined;
}

const timeOf = (time: string): string => new Date(time).toISOString();

export function autoDelegationBody(row: AutoDelegationJson, shown: Shown): AutoDelegationBody {
  const id = `auto_${row.id.toString()}`;
  const {
    max_sun_per_energy: maxSun,
    until,
    pause_reason: reason,
    paused_at: since,
    transfer_energy: needed = null,
  } = row;
  const measured = measuredUses(row, (shown.chainAt ?? shown.at).getTime());
  return {
    id,
    address: row.address,
    status: statusOf(row, shown),
    ...levelsOf(row),
    ...(row.transfer && transferMembers(row.transfer)),
    ...(needed !== null && { transfer_energy: needed }),
    duration_sec: row.duration_sec,
    ...(maxSun !== null && { max_sun_per_energy: maxSun }),
    daily_cap_credits: row.daily_cap_credits,
    idle_after_sec: row.idle_after_sec,
    ...(until !== null && { until: timeOf(until) }),
    ...(reason !== null && since !== null && { pause: { reason, since: timeOf(since) } }),
    ...(row.usable_energy !== null && { usable_energy: row.usable_energy }),
    ...(row.checked_at !== null && { checked_at: timeOf(row.checked_at) }),
    ...(row.used_at !== null && { used_at: timeOf(row.used_at) }),
    ...(measured !== undefined && {
      measured_uses: { days: measured.days, used_days: measured.usedDays, uses: measured.uses },
    }),
    purchases: row.purchases,
    spent_today_credits: row.spent_on === shown.at.toISOString().slice(0, 10) ? row.spent_credits : 0,
    ...(row.open_order_id !== null && { open_order: `${id}_${row.purchases.toString()}` }),
    created_at: timeOf(row.created_at),
    changed_at: timeOf(row.changed_at),
  };
}

/** Returns the energy to keep and the level of a refill: those of the terms, or the transfer's need if that is more. */
export function levelsOf(row: AutoDelegationJson): Pick<AutoDelegationBody, 'keep_energy' | 'refill_below'> {
  const needed = row.transfer_energy ?? 0;
  return { keep_energy: Math.max(row.keep_energy, needed), refill_below: Math.max(row.refill_below, needed) };
}

function transferMembers({ to, amount, token }: StoredTransfer) {
  return { transfer_to: to, transfer_amount: amount, ...(token !== undefined && { token }) };
}

/** Must match the filter of the list (auto-delegations.service.ts). */
function statusOf(row: AutoDelegationJson, { at, chainAt = at }: Shown): AutoDelegationStatus {
  if (row.until !== null && new Date(row.until) <= chainAt) return 'ended';
  if (row.pause_reason !== null) return 'paused';
  return row.asleep ? 'asleep' : 'active';
}
