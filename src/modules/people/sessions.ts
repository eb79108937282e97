/**
 * Sessions: a random token in a cookie, its hash in a row. A session ends by deleting its row, which is announced to
 * every process (session-streams.ts). Only the database's clock decides its age.
 */
import { Injectable } from '@nestjs/common';
import { needsSecondFactor, type Audience, type PersonRole } from '../../domain/audience.js';
import { CLOCK_IS_STEADY, confirmedNow } from '../../platform/database/confirmed-clock.js';
import { Database, type Queryable } from '../../platform/database/database.js';
import { hashOfToken, newToken } from './tokens.js';

const IDLE_HOURS = 12;
const IDLE = `interval '${IDLE_HOURS.toString()} hours'`;
const LIFE = `interval '7 days'`;
/** Time limit for a sign-in that waits for its second factor. */
const UNFINISHED = `interval '15 minutes'`;
/** Time after a sign-in in which actions that require a recent sign-in are allowed. */
const FRESH = `interval '10 minutes'`;
const PER_PERSON_MAX = 20;
const USER_AGENT_LENGTH_MAX = 200;

const ALIVE = `s.created_at > clock_timestamp() - ${LIFE} AND s.seen_at > clock_timestamp() - ${IDLE}
  AND (s.stage = 'signed_in' OR s.created_at > clock_timestamp() - ${UNFINISHED})`;

const FIND = {
  name: 'find_session',
  text: `SELECT s.id, s.person_id, s.stage, s.pending_totp_sealed, p.email, p.audience, p.totp_sealed, p.credentials,
                clock_timestamp() AS now, s.seen_at, s.authenticated_at + ${FRESH} AS fresh_until,
                least(s.created_at + ${LIFE}, CASE WHEN s.stage <> 'signed_in' THEN s.created_at + ${UNFINISHED} END) AS expires_at,
                ARRAY(SELECT json_build_object('project_id', m.project_id, 'role', m.role) FROM membership m
                       WHERE m.person_id = p.id) AS memberships
           FROM console_session s JOIN person p ON p.id = s.person_id
          WHERE s.token_hash = $1 AND s.audience = $2 AND ${ALIVE}`,
};
const BEGIN = `INSERT INTO console_session (token_hash, audience, person_id, stage, source_address, user_agent)
  SELECT $1, p.audience, p.id, $3, $4, $5 FROM person p WHERE p.id = $2 RETURNING id`;
/** `second_factor` waits for a code, `enrol` for the setup of a second factor. */
type SessionStage = 'second_factor' | 'enrol' | 'signed_in';

/**
 * Locks the person's row against changes. Read before a session begins: the password used, or a role that requires a
 * second factor, may have changed since it was checked.
 */
const HOLD = `SELECT credentials, totp_sealed IS NOT NULL AS has_second_factor FROM person WHERE id = $1 FOR SHARE`;
const HOLD_ALONE = `SELECT FROM person WHERE id = $1 FOR NO KEY UPDATE`;
const ROLES = `SELECT role FROM membership WHERE person_id = $1`;
/** Deletes the oldest sessions above the limit. */
const TRIM = `DELETE FROM console_session WHERE id IN
  (SELECT id FROM console_session WHERE person_id = $1 ORDER BY created_at DESC OFFSET ${PER_PERSON_MAX.toString()})`;
const SEEN = {
  name: 'see_session',
  text: `UPDATE console_session SET seen_at = clock_timestamp() WHERE id = $1 AND seen_at < clock_timestamp() - interval '1 minute'
    RETURNING seen_at`,
};
const RENEW = `UPDATE console_session SET token_hash = $2, stage = $3, wrong_codes = 0, pending_totp_sealed = NULL,
    seen_at = clock_timestamp(), authenticated_at = CASE WHEN $4 THEN clock_timestamp() ELSE authenticated_at END
  WHERE id = $1 RETURNING id`;
const WRONG_CODE = `UPDATE console_session SET wrong_codes = wrong_codes + 1 WHERE id = $1 RETURNING wrong_codes`;
const KEEP_PENDING = `UPDATE console_session SET pending_totp_sealed = $2 WHERE id = $1`;
const END = `DELETE FROM console_session WHERE id = $1 AND person_id = $2 RETURNING id`;
const END_OTHERS = `DELETE FROM console_session WHERE person_id = $1 AND ($2::uuid IS NULL OR id <> $2) RETURNING id`;
const LIST = `SELECT s.id, s.created_at, s.seen_at, s.source_address, s.user_agent FROM console_session s
  WHERE s.person_id = $1 AND s.stage = 'signed_in' AND ${ALIVE} ORDER BY s.seen_at DESC LIMIT ${PER_PERSON_MAX.toString()}`;
const ALIVE_OF = `SELECT s.id FROM console_session s WHERE s.id = ANY ($1::uuid[]) AND ${ALIVE}`;
/** The array is made once, so that the limit holds. */
const FORGET = `DELETE FROM console_session WHERE id = ANY (ARRAY(
  SELECT s.id FROM console_session s WHERE NOT (${ALIVE}) AND ${CLOCK_IS_STEADY} LIMIT 1000 FOR UPDATE SKIP LOCKED))`;
/** Wrong codes that end a sign-in. */
const WRONG_CODES_MAX = 5;

export interface MembershipRow {
  /** Null for the operators. */
  readonly project_id: string | null;
  readonly role: PersonRole;
}

/** A live session with the current state of its person. */
export interface SessionRow {
  readonly id: string;
  readonly person_id: string;
  readonly stage: SessionStage;
  readonly pending_totp_sealed: Buffer | null;
  readonly email: string;
  readonly audience: Audience;
  readonly totp_sealed: Buffer | null;
  readonly credentials: number;
  readonly now: Date;
  readonly seen_at: Date;
  readonly fresh_until: Date;
  readonly expires_at: Date;
  readonly memberships: readonly MembershipRow[];
}

/** The source of a new session. */
export interface Origin {
  readonly address: string;
  readonly userAgent: string;
}

export interface ListedSession {
  readonly id: string;
  readonly created_at: Date;
  readonly seen_at: Date;
  readonly source_address: string;
  readonly user_agent: string;
}

/** Returns the next stage after the password for a person with these roles. */
function stageAfterPassword(roles: readonly PersonRole[], hasSecondFactor: boolean): SessionStage {
  if (hasSecondFactor) return 'second_factor';
  return roles.some(needsSecondFactor) ? 'enrol' : 'signed_in';
}

@Injectable()
export class Sessions {
  constructor(private readonly database: Database) {}

  /** Returns the live session of a token. */
  async find(token: string, audience: Audience): Promise<SessionRow | undefined> {
    const [row] = await this.database.query<SessionRow>(FIND, [hashOfToken(token), audience]);
    return row;
  }

  /**
   * Begins a session in the person's next stage and deletes the oldest above the limit. `credentials`: the version that
   * was checked. Returns undefined if it has changed since.
   */
  async begin(
    { id, credentials }: { readonly id: string; readonly credentials: number },
    { address, userAgent }: Origin,
  ): Promise<{ readonly token: string; readonly stage: SessionStage } | undefined> {
    const token = newToken();
    return this.database.transaction(async (tx) => {
      const [held] = await tx.query<{ credentials: number; has_second_factor: boolean }>(HOLD, [id]);
      if (held?.credentials !== credentials) return undefined;
      const roles = await tx.query<{ role: PersonRole }>(ROLES, [id]);
      const stage = stageAfterPassword(
        roles.map(({ role }) => role),
        held.has_second_factor,
      );
      const agent = userAgent.slice(0, USER_AGENT_LENGTH_MAX);
      await tx.query(BEGIN, [hashOfToken(token), id, stage, address, agent]);
      await tx.query(TRIM, [id]);
      return { token, stage };
    });
  }

  /** Prevents new sessions of the person until the transaction ends, because its roles are changing. */
  async blockNewSessions(personId: string, tx: Queryable): Promise<void> {
    await tx.query(HOLD_ALONE, [personId]);
  }

  /** Gives the session a new token and stage. `isFresh`: the person has just signed in or confirmed the sign-in. */
  async renew(
    sessionId: string,
    stage: SessionStage,
    isFresh: boolean,
    db: Queryable = this.database,
  ): Promise<string | undefined> {
    const token = newToken();
    const rows = await db.query(RENEW, [sessionId, hashOfToken(token), stage, isFresh]);
    return rows.length === 1 ? token : undefined;
  }

  /** Records the session's use, at most once a minute. Returns the updated session. */
  async recordUse(session: SessionRow): Promise<SessionRow> {
    const { id, seen_at, now } = session;
    if (now.getTime() - seen_at.getTime() <= 60_000) return session;
    const [row] = await this.database.query<{ seen_at: Date }>(SEEN, [id]);
    // Without a write, another request of the same session wrote first.
    return { ...session, seen_at: row?.seen_at ?? now };
  }

  /** Counts a wrong code. Returns true if that ended the session. */
  async countWrongCode({ id, person_id }: SessionRow): Promise<boolean> {
    const [row] = await this.database.query<{ wrong_codes: number }>(WRONG_CODE, [id]);
    if (row !== undefined && row.wrong_codes < WRONG_CODES_MAX) return false;
    await this.end(id, person_id);
    return true;
  }

  async keepPending(sessionId: string, sealed: Buffer): Promise<void> {
    await this.database.query(KEEP_PENDING, [sessionId, sealed]);
  }

  /** Ends a session. Returns true if this person had it. */
  async end(sessionId: string, personId: string, db: Queryable = this.database): Promise<boolean> {
    return (await db.query(END, [sessionId, personId])).length === 1;
  }

  /** Ends all sessions of a person, except `but`. Returns their number. */
  async endAll(personId: string, but: string | undefined, db: Queryable = this.database): Promise<number> {
    return (await db.query(END_OTHERS, [personId, but ?? null])).length;
  }

  async list(personId: string): Promise<ListedSession[]> {
    return this.database.query<ListedSession>(LIST, [personId]);
  }

  /** Returns those of the ids that are still alive. */
  async findAlive(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.database.query<{ id: string }>(ALIVE_OF, [ids]);
    return new Set(rows.map(({ id }) => id));
  }

  /** Deletes sessions ended by age, unless the database's clock is unconfirmed. */
  async deleteExpired(): Promise<void> {
    if ((await confirmedNow(this.database)) !== undefined) await this.database.query(FORGET);
  }
}

/** Returns the end of a session without further use, at most `expires_at`. */
export function idleUntil({ seen_at, expires_at }: SessionRow): Date {
  return new Date(Math.min(seen_at.getTime() + IDLE_HOURS * 3_600_000, expires_at.getTime()));
}
