/**
 * The members of a project or of the operators: changes and removes roles, each with an audit row, and ends their
 * sessions.
 */
import { Injectable } from '@nestjs/common';
import { ROLES_OF, type PersonRole } from '../../domain/audience.js';
import { ConsoleError } from '../../domain/console-error.js';
import { ApiError } from '../../domain/errors.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database, type Queryable } from '../../platform/database/database.js';
import { managingRole, subjectOf, type Place } from './invitations.js';
import { SecondFactors } from './second-factors.js';
import { Sessions } from './sessions.js';

/**
 * The newest time of a person's sessions, from their index. For `max` over the table itself, the planner may read the
 * sessions of all people by their time, and all of them for a person without any.
 */
const LAST_SEEN_AT = `(SELECT max(s.seen_at) FROM (
      SELECT seen_at FROM console_session WHERE person_id = p.id OFFSET 0) s) AS last_seen_at`;

export const MEMBERS = `SELECT p.id AS person_id, p.email, m.role, p.totp_sealed IS NOT NULL AS has_second_factor,
    p.address_proven_at IS NOT NULL AS is_address_proven, m.created_at AS since,
    ${LAST_SEEN_AT}
  FROM membership m JOIN person p ON p.id = m.person_id
  WHERE m.audience = $1 AND m.project_id IS NOT DISTINCT FROM $2 ORDER BY m.created_at LIMIT 1000`;
export const EVERYONE = `SELECT p.id AS person_id, p.audience, p.email, p.totp_sealed IS NOT NULL AS has_second_factor,
    p.created_at AS since, ${LAST_SEEN_AT},
    ARRAY(SELECT json_build_object('project_id', m.project_id, 'role', m.role) FROM membership m WHERE m.person_id = p.id) AS memberships
  FROM person p ORDER BY p.audience, p.email LIMIT 10000`;
// Locks all members of a place ordered by id: two managers that remove each other take turns.
const LOCK = `SELECT m.person_id, m.role, p.email FROM membership m JOIN person p ON p.id = m.person_id
  WHERE m.audience = $1 AND m.project_id IS NOT DISTINCT FROM $2 ORDER BY m.id FOR UPDATE OF m`;
const CHANGE = `UPDATE membership SET role = $3 WHERE person_id = $1 AND project_id IS NOT DISTINCT FROM $2`;
const REMOVE = `DELETE FROM membership WHERE person_id = $1 AND project_id IS NOT DISTINCT FROM $2`;
const FIND = `SELECT id, email, audience FROM person WHERE email = $1 AND ($2::text IS NULL OR audience = $2)`;
const EMAIL = 'SELECT email FROM person WHERE id = $1';
const RESET = `UPDATE person SET totp_sealed = NULL, totp_since = NULL, credentials = credentials + 1
  WHERE id = $1 RETURNING email`;

export interface MemberRow {
  readonly person_id: string;
  readonly email: string;
  readonly role: PersonRole;
  readonly has_second_factor: boolean;
  readonly is_address_proven: boolean;
  readonly since: Date;
  readonly last_seen_at: Date | null;
}

interface Locked {
  readonly person_id: string;
  readonly role: PersonRole;
  readonly email: string;
}

@Injectable()
export class Team {
  constructor(
    private readonly database: Database,
    private readonly sessions: Sessions,
    private readonly factors: SecondFactors,
  ) {}

  async members({ audience, projectId = null }: Place | { audience: Place['audience']; projectId: string | null }) {
    return this.database.query<MemberRow>(MEMBERS, [audience, projectId]);
  }

  /** Returns all people of both audiences, for the operator's command line. */
  async everyone() {
    return this.database.query<{
      person_id: string;
      audience: Place['audience'];
      email: string;
      has_second_factor: boolean;
      since: Date;
      last_seen_at: Date | null;
      memberships: { project_id: string | null; role: PersonRole }[];
    }>(EVERYONE);
  }

  /** Changes a role and ends the person's sessions. Throws 404, 409 LAST_OWNER and 422. */
  async changeRole(place: Place, personId: string, role: PersonRole, author: Author): Promise<void> {
    if (!ROLES_OF[place.audience].includes(role)) {
      throw new ConsoleError('NOT_ALLOWED_HERE', `The role must be ${ROLES_OF[place.audience].join(' or ')}.`);
    }
    await this.change(place, personId, author, async (tx, member) => {
      await tx.query(CHANGE, [personId, place.projectId ?? null, role]);
      return { action: 'team.role', detail: { email: member.email, from: member.role, to: role }, stays: role };
    });
  }

  /** Removes the role and ends the person's sessions. Throws 404 and 409 LAST_OWNER. */
  async remove(place: Place, personId: string, author: Author): Promise<void> {
    await this.change(place, personId, author, async (tx, member) => {
      await tx.query(REMOVE, [personId, place.projectId ?? null]);
      return { action: 'team.remove', detail: { email: member.email, role: member.role }, stays: undefined };
    });
  }

  /** Returns the people with this e-mail. */
  async find(email: string, audience?: Place['audience']): Promise<{ id: string; email: string; audience: string }[]> {
    return this.database.query(FIND, [email, audience ?? null]);
  }

  /** Ends every session of a person. Returns their number. Throws 404. */
  async endSessions(personId: string, author: Author): Promise<number> {
    return this.database.transaction(async (tx) => {
      const [person] = await tx.query<{ email: string }>(EMAIL, [personId]);
      if (person === undefined) throw noSuchMember();
      const ended = await this.sessions.endAll(personId, undefined, tx);
      const detail = { email: person.email, ended };
      await recordAct(tx, author, { action: 'console.end-sessions', subject: personId, detail });
      return ended;
    });
  }

  /**
   * Removes the second factor and ends every session. A person that needs one must set up another at the next sign-in.
   * Throws 404.
   */
  async resetSecondFactor(personId: string, author: Author): Promise<void> {
    await this.database.transaction(async (tx) => {
      const [person] = await tx.query<{ email: string }>(RESET, [personId]);
      if (person === undefined) throw noSuchMember();
      await this.factors.forgetRecoveryCodes(tx, personId);
      await this.sessions.endAll(personId, undefined, tx);
      const detail = { email: person.email };
      await recordAct(tx, author, { action: 'console.reset-second-factor', subject: personId, detail });
    });
  }

  private async change(
    place: Place,
    personId: string,
    author: Author,
    act: (
      tx: Queryable,
      member: Locked,
    ) => Promise<{ action: string; detail: Record<string, string>; stays: PersonRole | undefined }>,
  ): Promise<void> {
    await this.database.transaction(async (tx) => {
      const members = await tx.query<Locked>(LOCK, [place.audience, place.projectId ?? null]);
      const member = members.find(({ person_id: id }) => id === personId);
      if (member === undefined) throw noSuchMember();
      await this.sessions.blockNewSessions(personId, tx);
      const { action, detail, stays } = await act(tx, member);
      const manages = managingRole(place);
      const others = members.filter(({ person_id: id, role }) => id !== personId && role === manages);
      if (member.role === manages && stays !== manages && others.length === 0) {
        throw new ConsoleError('LAST_OWNER', `This is the last ${manages}. Give another person that role first.`);
      }
      await this.sessions.endAll(personId, undefined, tx);
      await recordAct(tx, author, { action, subject: subjectOf(place), detail });
    });
  }
}

const noSuchMember = (): ApiError => new ApiError('NOT_FOUND', 'This person does not belong to the team.');
