/**
 * Invitations: a link, shown once, that gives one person one role in one project or among the operators, within a day.
 * The token is in the link's fragment, which no server receives, and is stored as a hash.
 */
import { Injectable } from '@nestjs/common';
import { MANAGING_ROLE, ROLES_OF, type Audience, type PersonRole } from '../../domain/audience.js';
import { ConsoleError } from '../../domain/console-error.js';
import { EMAIL_ADDRESS } from '../../domain/email-address.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database, type Queryable } from '../../platform/database/database.js';
import { hashOfToken, newToken } from './tokens.js';

const LIFE = `interval '24 hours'`;
/** Open invitations of one project, or of the operators. */
const OPEN_MAX = 50;
/** Invitations that people of a project created within a day, withdrawn ones included. */
const PER_DAY_MAX = 50;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** First key of the advisory locks that serialise creating and accepting invitations to one place. */
const INVITING = 4211;
const HOLD_PLACE = `SELECT pg_advisory_xact_lock($1, hashtext($2))`;
const OPEN = `accepted_at IS NULL AND revoked_at IS NULL AND expires_at > clock_timestamp()`;
const IS_MEMBER = `SELECT m.id FROM membership m JOIN person p ON p.id = m.person_id
  WHERE p.audience = $1 AND p.email = $2 AND m.project_id IS NOT DISTINCT FROM $3`;
const COUNT_OPEN = `SELECT count(*)::int AS open FROM invitation
  WHERE audience = $1 AND project_id IS NOT DISTINCT FROM $2 AND ${OPEN}`;
const COUNT_DAY = `SELECT count(*)::int AS made FROM invitation
  WHERE project_id = $1 AND created_at > clock_timestamp() - interval '1 day'`;
const REVOKE_OLDER = `UPDATE invitation SET revoked_at = clock_timestamp()
  WHERE audience = $1 AND email = $2 AND project_id IS NOT DISTINCT FROM $3 AND accepted_at IS NULL AND revoked_at IS NULL`;
const INVITE = `INSERT INTO invitation (token_hash, audience, email, project_id, role, invited_by, proves_address, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp() + ${LIFE}) RETURNING id, email, role, invited_by, expires_at`;
const LIST = `SELECT id, email, role, invited_by, expires_at FROM invitation
  WHERE audience = $1 AND project_id IS NOT DISTINCT FROM $2 AND ${OPEN} ORDER BY created_at DESC LIMIT ${OPEN_MAX.toString()}`;
const READ = {
  name: 'read_invitation',
  text: `SELECT i.id, i.email, i.audience, i.role, i.project_id, i.expires_at, console_invited_to(i.token_hash) AS project_name,
                i.proves_address
           FROM invitation i WHERE i.token_hash = $1 AND i.audience = $2 AND ${OPEN}`,
};
const REVOKE = `UPDATE invitation SET revoked_at = clock_timestamp()
  WHERE id = $1 AND audience = $2 AND project_id IS NOT DISTINCT FROM $3 AND ${OPEN} RETURNING email, role`;
const TAKE = `UPDATE invitation SET accepted_at = clock_timestamp() WHERE id = $1 AND ${OPEN} RETURNING id`;
const FORGET_ROLE = `DELETE FROM membership WHERE person_id = $1 AND project_id IS NOT DISTINCT FROM $2`;
const GIVE_ROLE = `INSERT INTO membership (person_id, audience, project_id, role) VALUES ($1, $2, $3, $4)`;

/** The place where a person becomes a member. */
export interface Place {
  readonly audience: Audience;
  /** Undefined for the operators. */
  readonly projectId: string | undefined;
}

export interface ListedInvitation {
  readonly id: string;
  readonly email: string;
  readonly role: PersonRole;
  readonly invited_by: string;
  readonly expires_at: Date;
}

/** An open invitation, as the holder of its token sees it. */
export interface OpenInvitation {
  readonly id: string;
  readonly email: string;
  readonly audience: Audience;
  readonly role: PersonRole;
  readonly project_id: string | null;
  readonly project_name: string | null;
  readonly expires_at: Date;
  /** The holder of the link has proven access to the mailbox, or an operator vouches for it. */
  readonly proves_address: boolean;
}

/**
 * The proof of identity that the link gives. `mail`: it went to the mailbox alone. `operator`: an operator hands it
 * over and vouches. `none`: the inviter saw it, so any person may hold it.
 */
export type LinkProof = 'mail' | 'operator' | 'none';

/** Returns a place as the audit log names it. */
export const subjectOf = ({ projectId }: Place): string => projectId ?? 'operators';
/** Returns the URL of the page that takes the token. */
export const linkOf = (consoleUrl: string, token: string): string => `${consoleUrl}/invitation#${token}`;

/**
 * Without this lock, two invitations of one person could be open together, and accepting the later one undid the first
 * one's role.
 */
const holdPlace = async (tx: Queryable, place: Place): Promise<unknown> =>
  tx.query(HOLD_PLACE, [INVITING, subjectOf(place)]);

/** Throws 409 once the people of a project have created the daily maximum of invitations. */
async function requireFewToday(tx: Queryable, projectId: string): Promise<void> {
  const [today] = await tx.query<{ made: number }>(COUNT_DAY, [projectId]);
  if ((today?.made ?? 0) < PER_DAY_MAX) return;
  throw new ConsoleError(
    'CONFLICT',
    'This project has created too many invitations today. Create the next one tomorrow.',
  );
}

const unknownInvitation = (): ConsoleError =>
  new ConsoleError(
    'INVITATION_NOT_FOUND',
    'This invitation was used, cancelled, or is older than a day. Ask for a new one.',
  );

@Injectable()
export class Invitations {
  constructor(private readonly database: Database) {}

  /**
   * Creates an invitation that replaces earlier ones of the same person. Returns its token, shown once. Throws 409 and
   * 422.
   */
  async invite(
    place: Place,
    { email, role }: { readonly email: string; readonly role: PersonRole },
    author: Author,
    proof: LinkProof = 'operator',
  ): Promise<{ readonly invitation: ListedInvitation; readonly token: string }> {
    const { audience, projectId = null } = place;
    if (!ROLES_OF[audience].includes(role)) {
      throw new ConsoleError('NOT_ALLOWED_HERE', `The role must be ${ROLES_OF[audience].join(' or ')}.`);
    }
    if (!EMAIL_ADDRESS.test(email)) throw new ConsoleError('NOT_ALLOWED_HERE', 'This is not an e-mail address.');
    const token = newToken();
    const invitation = await this.database.transaction(async (tx) => {
      await holdPlace(tx, place);
      if ((await tx.query(IS_MEMBER, [audience, email, projectId])).length > 0) {
        throw new ConsoleError('ALREADY_A_MEMBER', 'This person is already a member. Change the role instead.');
      }
      await tx.query(REVOKE_OLDER, [audience, email, projectId]);
      const [count] = await tx.query<{ open: number }>(COUNT_OPEN, [audience, projectId]);
      if ((count?.open ?? 0) >= OPEN_MAX) {
        throw new ConsoleError('CONFLICT', 'Too many invitations are open. Cancel some first.');
      }
      if (projectId !== null && proof !== 'operator') await requireFewToday(tx, projectId);
      const values = [hashOfToken(token), audience, email, projectId, role, author.actor, proof !== 'none'];
      const [made] = await tx.query<ListedInvitation>(INVITE, values);
      if (made === undefined) throw new Error('an insert returns its row');
      await recordAct(tx, author, { action: 'team.invite', subject: subjectOf(place), detail: { email, role } });
      return made;
    });
    return { invitation, token };
  }

  async list({ audience, projectId = null }: Place | { audience: Audience; projectId: string | null }) {
    return this.database.query<ListedInvitation>(LIST, [audience, projectId]);
  }

  /** Returns the open invitation of a token. Throws 404 INVITATION_NOT_FOUND, also for tokens that never existed. */
  async read(token: string, audience: Audience): Promise<OpenInvitation> {
    const [found] = TOKEN.test(token)
      ? await this.database.query<OpenInvitation>(READ, [hashOfToken(token), audience])
      : [];
    if (found === undefined) throw unknownInvitation();
    return found;
  }

  /** Withdraws an open invitation of this place. Throws 404 if there is none. */
  async revoke(place: Place, invitationId: string, author: Author): Promise<void> {
    await this.database.transaction(async (tx) => {
      const values = [invitationId, place.audience, place.projectId ?? null];
      const [revoked] = await tx.query<{ email: string; role: PersonRole }>(REVOKE, values);
      if (revoked === undefined) throw unknownInvitation();
      await recordAct(tx, author, { action: 'team.revoke', subject: subjectOf(place), detail: { ...revoked } });
    });
  }

  /** Gives the person the invitation's role, in the caller's transaction. Throws 404 if it was just used. */
  async accept(tx: Queryable, invitation: OpenInvitation, personId: string): Promise<void> {
    const { id, audience, project_id: projectId, role } = invitation;
    await holdPlace(tx, { audience, projectId: projectId ?? undefined });
    if ((await tx.query(TAKE, [id])).length === 0) throw unknownInvitation();
    await tx.query(FORGET_ROLE, [personId, projectId]);
    await tx.query(GIVE_ROLE, [personId, audience, projectId, role]);
  }
}

/** Returns the role that assigns the others in this place. */
export const managingRole = ({ audience }: Place): PersonRole => MANAGING_ROLE[audience];
