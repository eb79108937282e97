/**
 * Claims auto-delegations to check and records the results. The table is the queue: any worker claims due rows under a
 * lease and a fence. A result counts only if nothing has happened to the row since.
 */
import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../../platform/support/clock.js';
import { Database } from '../../platform/database/database.js';
import { isDue, isFromLaterClock, leaseIsFree } from '../../platform/database/lease-sql.js';
import type { Energy } from '../../domain/units.js';
import type { StoredTransfer } from './refill-size.js';
import type { UseHistory } from './use-history.js';

export interface ClaimedAutoDelegation extends UseHistory {
  readonly id: bigint;
  readonly project_id: string;
  readonly address: string;
  readonly keep_energy: Energy;
  readonly refill_below: Energy;
  readonly duration_sec: number;
  readonly transfer: StoredTransfer | null;
  readonly transfer_energy: Energy | null;
  /** True if the duration of each purchase is chosen by the measured uses. */
  readonly auto_duration: boolean;
  readonly max_sun_per_energy: bigint | null;
  readonly daily_cap_credits: bigint;
  /** Credits spent on the UTC day of the claim. */
  readonly spent_today: bigint;
  readonly idle_after_sec: number;
  readonly until: Date | null;
  readonly asleep: boolean;
  readonly pause_reason: string | null;
  readonly failures: number;
  readonly purchases: bigint;
  readonly open_order_id: bigint | null;
  readonly used_block: bigint | null;
  readonly used_at: Date | null;
  /** Null before the first check after it was set or woken, or after one of its own orders or rentals changed. */
  readonly change_at: Date | null;
  readonly fence: bigint;
  /** By the monotonic clock of the claiming process, taken before the claim. */
  readonly claimedAtMs: number;
}

/** One leg of an order that delegates, or will delegate, energy to the address. */
export interface LegToAddress {
  readonly auto_id: bigint;
  readonly order_id: bigint;
  readonly is_own: boolean;
  readonly energy: Energy;
  readonly ends_at: Date | null;
  readonly undoing: boolean;
  readonly settled: boolean;
  readonly is_sound: boolean;
  readonly extensions: number;
  readonly amount_sun: bigint;
  /** The blocks of its delegation and of its reclaim. */
  readonly delegated_in: bigint | null;
  readonly is_reclaim_sent: boolean;
}

/** The result of a check. */
export interface Checked {
  readonly isAsleep: boolean;
  /** Undefined: not paused. */
  readonly pauseReason: string | undefined;
  readonly failures: number;
  readonly usableEnergy: bigint | undefined;
  /** Energy that the transfer needs; undefined if not measured. */
  readonly transferEnergy?: bigint | undefined;
  readonly usedAtMs: number | undefined;
  /** By the chain's clock. */
  readonly changeAtMs: number | undefined;
  /** Milliseconds until an immediate check, and until the turn in the slow round. Undefined: no check of that kind. */
  readonly dueInMs: number | undefined;
  readonly checkInMs: number | undefined;
}

const ROW = `a.id, a.project_id, a.address, a.keep_energy, a.refill_below, a.duration_sec, a.max_sun_per_energy,
    a.idle_after_sec, a.until, a.asleep, a.pause_reason, a.failures, a.purchases, a.open_order_id, a.used_block, a.used_at,
    a.change_at, a.fence, a.auto_duration, a.uses_on::text AS uses_on, a.daily_uses, a.daily_cap_credits,
    a.transfer, a.transfer_energy,
    CASE WHEN a.spent_on >= (clock_timestamp() AT TIME ZONE 'UTC')::date THEN a.spent_credits ELSE 0 END AS spent_today`;

/** The longest times until a check, in seconds: retries after failures, and the slow round (address-check.ts). */
const DUE_SEC_MAX = 120;
const CHECK_SEC_MAX = 600;

/** Time for which other workers skip a row that is being checked. */
const LEASE_MS = 30_000;

/** True while a check runs: its lease is neither over nor longer than a lease can be. */
const IS_CHECKED = `a.lease_fence = a.fence AND NOT ${leaseIsFree('a.due_at', LEASE_MS / 1000)}`;

/**
 * Makes a row due immediately after an event. If a running check may have missed the event, the row becomes due once
 * more after it. The running check is not invalidated: otherwise an address that is used in every block would never get
 * a purchase.
 */
export const DUE_NOW = `due_again = coalesce(${IS_CHECKED}, false), due_at = CASE WHEN ${IS_CHECKED} THEN a.due_at ELSE clock_timestamp() END`;

const IS_DUE = isDue('{at}', '{longest}');
const IS_FROM_LATER_CLOCK = isFromLaterClock('{at}', '{longest}', 'statement_timestamp()');

/**
 * Claims rows that are due by the column {at}, fairly by project: a project with ten thousand due rows delays only
 * itself.
 *
 * With fewer than a hundred due rows, all are considered. Otherwise the longest due row of up to a thousand projects is
 * considered too. Each is one index step, so the cost grows with projects, not with rows. $3: a random project to start
 * behind, so that different projects are reached each time.
 *
 * The search uses the statement's time, as an index requires. The chosen rows are checked again, by id, under their
 * locks.
 */
const CLAIM = `WITH RECURSIVE oldest AS MATERIALIZED (
    (SELECT project_id, id, {at} AS at FROM auto_delegation WHERE {at} <= statement_timestamp(){more} ORDER BY {at} LIMIT 100)
    UNION ALL (SELECT project_id, id, {at} AS at FROM auto_delegation
      WHERE ${IS_FROM_LATER_CLOCK}{more} ORDER BY {at} LIMIT 100)),
  project AS (
    SELECT n.* FROM (VALUES ('00000000-0000-0000-0000-000000000000'::uuid), ($3)) s(behind) CROSS JOIN LATERAL (
      SELECT project_id, id, {at} AS at FROM auto_delegation
       WHERE {at} IS NOT NULL AND project_id > s.behind ORDER BY project_id, {at} LIMIT 1) n
     WHERE (SELECT count(*) FROM oldest WHERE at <= statement_timestamp()) = 100
    UNION SELECT n.* FROM project p CROSS JOIN LATERAL (
      SELECT project_id, id, {at} AS at FROM auto_delegation
       WHERE {at} IS NOT NULL AND project_id > p.project_id ORDER BY project_id, {at} LIMIT 1) n),
  next AS (SELECT * FROM oldest
    UNION SELECT * FROM (SELECT * FROM project LIMIT 1000) p WHERE p.at <= statement_timestamp()),
  turn AS (SELECT id, at, row_number() OVER (PARTITION BY project_id ORDER BY at, id) AS place FROM next)
  UPDATE auto_delegation a SET due_at = clock_timestamp() + $2 * interval '1 millisecond', due_again = false,
      check_at = {check_at}, fence = a.fence + 1, lease_fence = a.fence + 1
    FROM (SELECT id FROM auto_delegation
           WHERE id = ANY (ARRAY(SELECT id FROM turn ORDER BY place, at LIMIT $1)) AND ${IS_DUE}{more}
           FOR NO KEY UPDATE SKIP LOCKED) due
    WHERE a.id = due.id RETURNING ${ROW}`;

const CLAIM_DUE = {
  name: 'claim_auto_delegations_due',
  text: CLAIM.replaceAll('{at}', 'due_at')
    .replaceAll('{longest}', DUE_SEC_MAX.toString())
    .replaceAll('{more}', '')
    .replace('{check_at}', 'a.check_at'),
};

const CLAIM_IN_ROUND = {
  name: 'claim_auto_delegations_in_round',
  text: CLAIM.replaceAll('{at}', 'check_at')
    .replaceAll('{longest}', CHECK_SEC_MAX.toString())
    .replaceAll('{more}', ' AND due_at IS NULL')
    .replace('{check_at}', 'NULL'),
};

const CHANGES = {
  name: 'auto_delegations_change',
  text: `UPDATE auto_delegation a SET ${DUE_NOW}, change_at = NULL
    FROM (SELECT id FROM auto_delegation WHERE change_at <= $1 ORDER BY change_at LIMIT $2
          FOR NO KEY UPDATE SKIP LOCKED) changing
    WHERE a.id = changing.id RETURNING true AS made`,
};

/**
 * An auto-delegation buys energy alone. A caller's own order may have a key like its orders, and is never extended at the
 * price of energy if it has bandwidth too. OFFSET 0: orders are looked up one by one, as in RENTALS (receiver-usage.ts).
 */
export const LEGS = {
  name: 'legs_to_auto_delegations',
  text: `SELECT a.id AS auto_id, o.id AS order_id, o.energy, o.ends_at, o.undoing, o.settled, o.extensions, l.amount_sun,
      o.project_id = a.project_id AND o.key LIKE 'auto\\_' || a.id || '\\_%' AND o.bandwidth IS NULL AS is_own,
      o.status = 'delivered' AND NOT o.needs_attention AND o.reclaimed_at IS NULL
        AND (SELECT x.id FROM open_leg x
              WHERE x.order_id = o.id AND x.kind <> 'activation' AND x.status IN ('reclaiming', 'reclaimed') LIMIT 1) IS NULL AS is_sound,
      d.block_number AS delegated_in, r.id IS NOT NULL AS is_reclaim_sent
    FROM unnest($1::bigint[], $2::uuid[], $3::text[]) AS a(id, project_id, address)
    JOIN pool_wallet w ON true
    JOIN open_leg l ON l.wallet_id = w.id AND l.receive_address = a.address
      AND l.status = ANY (ARRAY['reserved'::text, 'placed'::text, 'active'::text, 'reclaiming'::text])
    CROSS JOIN LATERAL (SELECT * FROM open_orders WHERE id = l.order_id OFFSET 0) o
    LEFT JOIN LATERAL (SELECT block_number FROM open_chain_tx
       WHERE leg_id = l.id AND purpose = 'delegate' AND status IN ('included', 'solid') OFFSET 0) d ON true
    LEFT JOIN LATERAL (SELECT id FROM open_chain_tx
       WHERE leg_id = l.id AND purpose = 'reclaim' AND status IN ('sending', 'included', 'solid') OFFSET 0) r ON true
    WHERE l.kind = 'rental'`,
};

const RECORD = {
  name: 'record_auto_delegation_check',
  text: `UPDATE auto_delegation SET asleep = $3 AND NOT due_again, lease_fence = NULL, due_again = false, pause_reason = $4::text, failures = least($5, 100),
      paused_at = CASE WHEN $4::text IS NULL THEN NULL WHEN pause_reason = $4::text THEN paused_at ELSE clock_timestamp() END,
      usable_energy = coalesce($6, usable_energy),
      checked_at = CASE WHEN $6::bigint IS NULL THEN checked_at ELSE clock_timestamp() END,
      transfer_energy = coalesce($11, transfer_energy),
      used_at = CASE WHEN due_again THEN used_at ELSE coalesce(used_at, $7) END, change_at = $8,
      due_at = clock_timestamp() + CASE WHEN due_again THEN 0 ELSE $9 END * interval '1 millisecond',
      check_at = clock_timestamp() + $10 * interval '1 millisecond'
    WHERE id = $1 AND fence = $2 RETURNING true AS recorded`,
};

/** Returns true if the lease has expired, as in a process that was paused. Its readings and prices are then too old. */
export function isLeaseOver({ claimedAtMs }: Pick<ClaimedAutoDelegation, 'claimedAtMs'>): boolean {
  return monotonicMs() - claimedAtMs >= LEASE_MS;
}

@Injectable()
export class AutoDelegationClaims {
  constructor(private readonly database: Database) {}

  /** Claims rows that are due now, fairly by project, the longest due first. */
  async claimDue(limit: number): Promise<ClaimedAutoDelegation[]> {
    return this.claim(CLAIM_DUE, limit);
  }

  /** Claims the next rows of the slow round, in the same way. */
  async claimInRound(limit: number): Promise<ClaimedAutoDelegation[]> {
    return this.claim(CLAIM_IN_ROUND, limit);
  }

  private async claim(statement: typeof CLAIM_DUE, limit: number): Promise<ClaimedAutoDelegation[]> {
    const claimedAtMs = monotonicMs();
    const rows = await this.database.query<ClaimedAutoDelegation>(statement, [limit, LEASE_MS, randomUUID()]);
    return rows.map((row) => ({ ...row, claimedAtMs }));
  }

  /** Makes rows due whose rentals change by `clockMs`, the chain's time. Returns true when more may be left. */
  async makeChangesDue(clockMs: number, limit: number): Promise<boolean> {
    return (await this.database.query(CHANGES, [new Date(clockMs), limit])).length === limit;
  }

  /** Returns every current or pending delegation of our pool to the claimed addresses, for any buyer. */
  async legsOf(claimed: readonly ClaimedAutoDelegation[]): Promise<LegToAddress[]> {
    return this.database.query<LegToAddress>(LEGS, [
      claimed.map(({ id }) => id),
      claimed.map(({ project_id: projectId }) => projectId),
      claimed.map(({ address }) => address),
    ]);
  }

  /**
   * Records the result of a check. Returns false, without recording it, when something has happened since the check
   * began; then the row is due again.
   */
  async record({ id, fence }: ClaimedAutoDelegation, checked: Checked): Promise<boolean> {
    const date = (ms: number | undefined) => (ms === undefined ? null : new Date(ms));
    const rows = await this.database.query(RECORD, [
      ...[id, fence, checked.isAsleep, checked.pauseReason ?? null, checked.failures, checked.usableEnergy ?? null],
      ...[date(checked.usedAtMs), date(checked.changeAtMs), checked.dueInMs ?? null, checked.checkInMs ?? null],
      checked.transferEnergy ?? null,
    ]);
    return rows.length > 0;
  }
}
