/**
 * Claims notification choices with something to mail, under lease and fence. Each choice is a cursor that advances once
 * its mail was accepted. So nothing is skipped, and a mail repeats only if its outcome was lost. Apart from
 * `notification-choices.ts`, only this class writes these rows.
 */
import { Injectable } from '@nestjs/common';
import type { Audience } from '../../domain/audience.js';
import { steadyAgeSec } from '../../platform/database/confirmed-clock.js';
import { Database } from '../../platform/database/database.js';
import { isDue, isFromLaterClock, leaseIsFree } from '../../platform/database/lease-sql.js';

/** Maximum of mails to one person in any hour, over all their projects. */
export const MAILS_PER_HOUR = 6;
const CLAIMS_MAX = 8;
/** Longer than the mails of one claim may take, four at a time (mailer.ts). */
const LEASE_SEC = 180;
const LEASE = `interval '${LEASE_SEC.toString()} seconds'`;
/** The longest pause: after failures, with its jitter (mail-loop.ts). */
const LONGEST_REST_SEC = 4400;
const IS_TO_BE_MAILED = `${isDue('due_at', LONGEST_REST_SEC)} AND ${leaseIsFree('lease_until', LEASE_SEC)}`;
/** Events within this time go into one mail. */
const COLLECT = `interval '1 minute'`;
/** Pause before the next check for new events. A project's log shows new events itself, so its check is frequent. */
const LOOK_AGAIN = `CASE audience WHEN 'merchant' THEN interval '5 seconds' ELSE interval '30 seconds' END`;

const DUE_OF_OPERATORS = `SELECT n.membership_id FROM notification n
    JOIN membership m ON m.id = n.membership_id JOIN person p ON p.id = m.person_id AND p.address_proven_at IS NOT NULL
  WHERE n.audience = 'operator' AND kinds <> '{}' AND ${IS_TO_BE_MAILED} ORDER BY due_at LIMIT $1`;
/** Runs with the owner's rights: a merchants' console may read the log's position of one project, never of all. */
const DUE_OF_MERCHANTS = `SELECT membership_id FROM notifications_due($1)`;

const FAILING_SEC = steadyAgeSec('n.failing_since');

const CLAIM = `WITH held AS (
    SELECT membership_id FROM notification
     WHERE membership_id = ANY ($1::bigint[]) AND kinds <> '{}' AND ${IS_TO_BE_MAILED}
     ORDER BY membership_id FOR NO KEY UPDATE SKIP LOCKED)
  UPDATE notification n SET fence = n.fence + 1, lease_until = clock_timestamp() + ${LEASE}
    FROM held, membership m, person p
   WHERE n.membership_id = held.membership_id AND m.id = n.membership_id AND p.id = m.person_id
     AND p.address_proven_at IS NOT NULL
  RETURNING n.membership_id AS id, n.fence, n.kinds, n.position, n.noted, n.failures, n.fault,
    CASE WHEN n.failing_since IS NOT NULL THEN ${FAILING_SEC} END AS failing_sec, m.person_id, m.project_id, p.email`;

const IS_FROM_LATER_CLOCK = isFromLaterClock('t', 0);

/** Locks all rows of a person in one order, so that two processes that mail one person count one after the other. */
const LOCK_PERSON = `SELECT n.membership_id AS id, ARRAY(SELECT t FROM unnest(n.mailed_at) t
      WHERE t > clock_timestamp() - interval '1 hour' AND NOT ${IS_FROM_LATER_CLOCK} ORDER BY t) AS lately
  FROM notification n JOIN membership m ON m.id = n.membership_id
  WHERE m.person_id = $1 ORDER BY n.membership_id FOR NO KEY UPDATE OF n`;

const HELD = `membership_id = $1 AND fence = $2`;
const TAKE_PLACE = `UPDATE notification SET mailed_at = $3::timestamptz[] || clock_timestamp() WHERE ${HELD} RETURNING membership_id`;
const PUT_OFF = `UPDATE notification SET lease_until = NULL, due_at = $3::timestamptz + interval '1 hour' WHERE ${HELD}`;
const PASS = `UPDATE notification SET position = $3, noted = $4, lease_until = NULL, due_at = clock_timestamp() + ${LOOK_AGAIN} WHERE ${HELD}`;
const SENT = `UPDATE notification SET position = $3, noted = $4, lease_until = NULL, due_at = clock_timestamp() + ${COLLECT},
    sent_at = clock_timestamp(), failures = 0, failing_since = NULL, fault = NULL WHERE ${HELD}`;
/**
 * A mail that no server received does not count towards the hourly limit. `failures`: consecutive failures of the same
 * kind.
 */
const FAILED = `UPDATE notification SET lease_until = NULL, failures = $6, fault = $3,
    failing_since = coalesce(failing_since, clock_timestamp()), due_at = clock_timestamp() + make_interval(secs => $4),
    mailed_at = CASE WHEN $5 THEN mailed_at ELSE mailed_at[:cardinality(mailed_at) - 1] END WHERE ${HELD}`;
const GIVEN_UP = `UPDATE notification SET position = $3, noted = $4, lease_until = NULL, due_at = clock_timestamp() + ${COLLECT},
    fault = $5, failures = 0, failing_since = NULL, given_up_at = clock_timestamp(), given_up = given_up + $6 WHERE ${HELD}`;

export interface MailClaim {
  readonly id: bigint;
  readonly fence: bigint;
  readonly kinds: readonly string[];
  readonly position: bigint;
  readonly noted: readonly string[];
  /** Consecutive failures of one kind: permanent refusals, or all others. */
  readonly failures: number;
  /** Of the last failure. */
  readonly fault: string | null;
  readonly failing_sec: number | null;
  readonly person_id: string;
  /** Null for an operator. */
  readonly project_id: string | null;
  readonly email: string;
}

interface MailFailure {
  readonly fault: string;
  /** Including this one. */
  readonly failures: number;
  readonly againSec: number;
  readonly isUncertain: boolean;
}

/** The progress of a claim: an event's position, or the existing lines of the inbox. */
export interface Reached {
  readonly position: bigint;
  readonly noted: readonly string[];
}

@Injectable()
export class MailClaims {
  constructor(private readonly database: Database) {}

  /** Claims some choices with possible mails, for three minutes. */
  async claim(audience: Audience): Promise<MailClaim[]> {
    const due = audience === 'merchant' ? DUE_OF_MERCHANTS : DUE_OF_OPERATORS;
    const rows = await this.database.query<{ membership_id: bigint }>(due, [CLAIMS_MAX]);
    if (rows.length === 0) return [];
    return this.database.query<MailClaim>(CLAIM, [rows.map(({ membership_id: id }) => id)]);
  }

  /** Takes one of the person's mails of this hour. If none is left, postpones the claim until one is. */
  async takePlace({ id, fence, person_id: personId }: MailClaim): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const rows = await tx.query<{ id: bigint; lately: Date[] }>(LOCK_PERSON, [personId]);
      const all = rows.flatMap(({ lately }) => lately).sort((a, b) => a.getTime() - b.getTime());
      const [oldest] = all.slice(-MAILS_PER_HOUR);
      if (all.length >= MAILS_PER_HOUR && oldest !== undefined) {
        await tx.query(PUT_OFF, [id, fence, oldest]);
        return false;
      }
      const own = rows.find((row) => row.id === id)?.lately ?? [];
      return (await tx.query(TAKE_PLACE, [id, fence, own])).length === 1;
    });
  }

  /** Releases a claim without new events. */
  async releaseWithoutMail({ id, fence }: MailClaim, { position, noted }: Reached): Promise<void> {
    await this.database.query(PASS, [id, fence, position, noted]);
  }

  async recordSent({ id, fence }: MailClaim, { position, noted }: Reached): Promise<void> {
    await this.database.query(SENT, [id, fence, position, noted]);
  }

  async recordFailure(
    { id, fence }: MailClaim,
    { fault, failures, againSec, isUncertain }: MailFailure,
  ): Promise<void> {
    await this.database.query(FAILED, [id, fence, fault, againSec, isUncertain, failures]);
  }

  /** Gives up `count` events or lines. */
  async recordGivenUp(
    { id, fence }: MailClaim,
    { position, noted }: Reached,
    fault: string,
    count: number,
  ): Promise<void> {
    await this.database.query(GIVEN_UP, [id, fence, position, noted, fault, count]);
  }
}
