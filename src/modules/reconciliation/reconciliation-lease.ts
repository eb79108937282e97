/** The lease under which one worker at a time reconciles, with its fencing token. */
import { Injectable } from '@nestjs/common';
import { messageOf } from '../../domain/errors.js';
import { Database } from '../../platform/database/database.js';
import { leaseIsFree } from '../../platform/database/lease-sql.js';
import { Log } from '../../platform/observability/logger.js';
import { keepLease } from '../../platform/support/lease.js';

const LEASE_SEC = 30;
/** A longer pass is stuck: its lease expires, and another worker makes one. */
const LEASE_MAX_MS = 600_000;

const LEASE_IS_FREE = leaseIsFree('lease_until', '$1');

/** $3: seconds from one pass to the next. */
const PASS_IS_DUE = `(passed_at IS NULL OR passed_at <= clock_timestamp() - $3 * interval '1 second'
  OR passed_at > clock_timestamp() + interval '1 second')`;

const TAKE_LEASE = `UPDATE reconcile_state s SET lease_until = clock_timestamp() + $1 * interval '1 second', fence = fence + 1
  WHERE ${LEASE_IS_FREE} AND ($2 OR ${PASS_IS_DUE})
  RETURNING fence, ${PASS_IS_DUE} AS "isPassDue"`;

/** Requires a lease: a renewal that arrives after the lease's end must not revive it. */
const RENEW_LEASE = `UPDATE reconcile_state SET lease_until = clock_timestamp() + $2 * interval '1 second'
  WHERE fence = $1 AND lease_until IS NOT NULL`;

const END_LEASE = `UPDATE reconcile_state SET lease_until = NULL,
    passed_at = CASE WHEN $2 THEN clock_timestamp() ELSE passed_at END WHERE fence = $1 RETURNING passed_at`;

interface TakenLease {
  readonly fence: number;
  readonly isPassDue: boolean;
}

@Injectable()
export class ReconciliationLease {
  constructor(
    private readonly database: Database,
    private readonly log: Log,
  ) {}

  /** Takes the lease if it is free and a pass is due `restSec` after the last one, or if the lease is `wanted` anyway. */
  async take(wanted: boolean, restSec: number): Promise<TakenLease | undefined> {
    const [lease] = await this.database.query<TakenLease>(TAKE_LEASE, [LEASE_SEC, wanted, restSec]);
    return lease;
  }

  async keepUntil(fence: number, done: AbortSignal): Promise<void> {
    const options = {
      leaseSec: LEASE_SEC,
      maxMs: LEASE_MAX_MS,
      renew: async () => {
        await this.database.query(RENEW_LEASE, [fence, LEASE_SEC]);
      },
      onFailure: (error: unknown) => {
        this.log.warn({ fault: messageOf(error) }, 'failed to renew the reconciliation lease');
      },
    };
    await keepLease(options, done);
  }

  /**
   * Ends the lease and records a made pass. Returns the time of the last pass, or undefined if another worker took the
   * lease over.
   */
  async end(fence: number, isPassMade: boolean): Promise<{ readonly passedAt: Date | null } | undefined> {
    const [ended] = await this.database.query<{ passed_at: Date | null }>(END_LEASE, [fence, isPassMade]);
    return ended && { passedAt: ended.passed_at };
  }
}
