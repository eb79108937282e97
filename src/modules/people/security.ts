/**
 * Changes that people make to their own credentials: password, second factor, recovery codes, sessions. Also accepts
 * invitations.
 */
import { Injectable } from '@nestjs/common';
import { needsSecondFactor } from '../../domain/audience.js';
import { ConsoleError } from '../../domain/console-error.js';
import { recordAct } from '../../platform/database/audit-log.js';
import { Database, type Queryable, type Transaction } from '../../platform/database/database.js';
import { Invitations, subjectOf, type OpenInvitation } from './invitations.js';
import { Passwords, requireFit } from './passwords.js';
import { SecondFactors } from './second-factors.js';
import { Sessions, type SessionRow } from './sessions.js';
import type { PasswordSlot } from './password-queue.js';
import { SignIn, slotOfSession, type SignedIn, type Visitor } from './sign-in.js';

const STATE = `SELECT p.email, p.password_changed_at, p.totp_since,
    (SELECT count(*)::int FROM recovery_code c WHERE c.person_id = p.id) AS recovery_codes_left
  FROM person p WHERE p.id = $1`;
const SET_PASSWORD = `UPDATE person SET password_hash = $2, password_changed_at = clock_timestamp(), credentials = credentials + 1
  WHERE id = $1`;
const SET_FACTOR = `UPDATE person SET totp_sealed = $2, totp_since = clock_timestamp(), totp_step = $3, credentials = credentials + 1
  WHERE id = $1`;
const NO_FACTOR = `UPDATE person SET totp_sealed = NULL, totp_since = NULL, credentials = credentials + 1 WHERE id = $1`;
const MAKE = `INSERT INTO person (audience, email, password_hash, address_proven_at)
  VALUES ($1, $2, $3, CASE WHEN $4 THEN clock_timestamp() END) ON CONFLICT DO NOTHING RETURNING id`;
/**
 * Gives an unproven account, or one without memberships, to the holder of the invitation. No earlier credential opens
 * it.
 */
const REPLACE = `UPDATE person SET password_hash = $2, password_changed_at = clock_timestamp(), credentials = credentials + 1,
    totp_sealed = NULL, totp_since = NULL, totp_step = 0, address_proven_at = CASE WHEN $3 THEN clock_timestamp() END
  WHERE id = $1`;
const PROVE = `UPDATE person SET address_proven_at = clock_timestamp() WHERE id = $1 AND address_proven_at IS NULL`;
/** Prevents new memberships of the person meanwhile, since each refers to this row. */
const HOLD = `SELECT FROM person WHERE id = $1 FOR UPDATE`;
const PERSON = `SELECT p.id, p.email, p.credentials FROM person p WHERE p.audience = $1 AND p.email = $2`;
const ACCOUNT = `SELECT p.id, p.credentials, p.password_hash, p.address_proven_at IS NOT NULL AS is_proven,
    EXISTS (SELECT FROM membership m WHERE m.person_id = p.id) AS is_member
  FROM person p WHERE p.audience = $1 AND p.email = $2`;

interface Account {
  readonly id: string;
  readonly credentials: number;
  readonly password_hash: string;
  readonly is_proven: boolean;
  readonly is_member: boolean;
}

/**
 * Returns true if only the account's own password opens it. Otherwise the invitation lets its holder choose a new one.
 */
const isKept = (account: Account, { proves_address: proves }: OpenInvitation): boolean =>
  account.is_member && (account.is_proven || !proves);

export interface SecurityState {
  readonly email: string;
  readonly password_changed_at: Date;
  readonly totp_since: Date | null;
  readonly recovery_codes_left: number;
}

@Injectable()
export class Security {
  constructor(
    private readonly database: Database,
    private readonly passwords: Passwords,
    private readonly factors: SecondFactors,
    private readonly sessions: Sessions,
    private readonly invitations: Invitations,
    private readonly signIn: SignIn,
  ) {}

  async state(personId: string): Promise<SecurityState> {
    const [state] = await this.database.query<SecurityState>(STATE, [personId]);
    if (state === undefined) throw new ConsoleError('SIGN_IN', 'Sign in.');
    return state;
  }

  /**
   * Returns true if accepting the invitation requires an account's password. Always false for a link that proves no
   * address: its holder may be the inviter, who must not learn which addresses have an account.
   */
  async wantsPassword(invitation: OpenInvitation): Promise<boolean> {
    const account = await this.accountOf(invitation);
    return invitation.proves_address && account !== undefined && isKept(account, invitation);
  }

  /**
   * Accepts an invitation with a new password, or with that of an existing account. A link that proves the address
   * takes over an account whose address was never proven. Throws 404 INVITATION_NOT_FOUND, 401 WRONG_CREDENTIALS, 409
   * CONFLICT, 422 PASSWORD_NOT_FIT and 429.
   */
  async accept(invitation: OpenInvitation, password: string, visitor: Visitor): Promise<SignedIn> {
    const { audience, email } = invitation;
    const known = await this.accountOf(invitation);
    const keeps = known !== undefined && isKept(known, invitation);
    const guess = keeps ? await this.signIn.countGuess(email, known, visitor) : {};
    const slot = this.signIn.slotOf(visitor, known);
    if (keeps) await this.requireOwnPassword(known, password, slot);
    else requireFit(password, email, 'password');
    const hash = keeps ? undefined : await this.passwords.hash(password, slot);
    await this.database.transaction(async (tx) => {
      const personId = await this.personOf(tx, invitation, known, hash);
      await this.invitations.accept(tx, invitation, personId);
      // The roles have changed, so the person's other sessions must sign in again.
      await this.sessions.endAll(personId, undefined, tx);
      const place = { audience, projectId: invitation.project_id ?? undefined };
      const author = { actor: email, reason: 'accepted an invitation' };
      const detail = {
        email,
        role: invitation.role,
        ...(hash !== undefined && known !== undefined && { new_password: true }),
      };
      await recordAct(tx, author, { action: 'team.join', subject: subjectOf(place), detail });
    });
    const [person] = await this.database.query<Parameters<SignIn['begin']>[0]>(PERSON, [audience, email]);
    if (person === undefined) throw new Error('a person that accepted an invitation exists');
    return this.signIn.begin(person, visitor, guess);
  }

  /** Records that the person of this session has access to the mailbox of their address. */
  async proveAddress(session: SessionRow): Promise<void> {
    await this.database.transaction(async (tx) => {
      await tx.query(PROVE, [session.person_id]);
      await recordOwnAct(tx, session, 'security.address');
    });
  }

  /**
   * Changes the password. Ends all other sessions, and returns this one's new token. Throws 401 WRONG_CREDENTIALS and
   * 422.
   */
  async changePassword(
    session: SessionRow,
    given: { readonly current_password: string; readonly new_password: string },
    visitor: Visitor,
  ): Promise<string> {
    requireFit(given.new_password, session.email, 'new_password');
    await this.signIn.requirePassword(session, given.current_password, visitor);
    const hash = await this.passwords.hash(given.new_password, slotOfSession(session, visitor));
    return this.applyAndRenew(session, 'security.password', async (tx) => {
      await tx.query(SET_PASSWORD, [session.person_id, hash]);
    });
  }

  /** Begins to set up a second factor. The secret is shown now and takes effect once its first code is confirmed. */
  async beginFactor(session: SessionRow, issuer: string): Promise<{ readonly secret: string; readonly url: string }> {
    const { sealed, secret, url } = this.factors.make(session.person_id, session.email, issuer);
    await this.sessions.keepPending(session.id, sealed);
    return { secret, url };
  }

  /** Confirms the second factor being set up. Throws 401 WRONG_CODE, and 409 if there is none. */
  async confirmFactor(
    session: SessionRow,
    code: string,
  ): Promise<{ readonly token: string; readonly codes: readonly string[] }> {
    const { pending_totp_sealed: sealed } = session;
    if (sealed === null)
      throw new ConsoleError('CONFLICT', 'The set-up of a second factor has not begun. Begin it first.');
    const step = this.factors.stepOf(session.person_id, sealed, code);
    if (step === undefined) {
      if (await this.sessions.countWrongCode(session))
        throw new ConsoleError('SIGN_IN', 'Five codes were wrong. Sign in again.');
      throw new ConsoleError('WRONG_CODE', 'This code is wrong. Check the clock of the device that shows it.');
    }
    let codes: readonly string[] = [];
    const token = await this.applyAndRenew(session, 'security.second-factor', async (tx) => {
      await tx.query(SET_FACTOR, [session.person_id, sealed, step.toString()]);
      codes = await this.factors.newRecoveryCodes(tx, session.person_id);
    });
    return { token, codes };
  }

  /** Removes the second factor. Throws 409 SECOND_FACTOR_REQUIRED if a role needs it. */
  async removeFactor(session: SessionRow): Promise<string> {
    if (session.memberships.some(({ role }) => needsSecondFactor(role))) {
      throw new ConsoleError(
        'SECOND_FACTOR_REQUIRED',
        'Your role requires a second factor. Set up another one instead.',
      );
    }
    return this.applyAndRenew(session, 'security.no-second-factor', async (tx) => {
      await tx.query(NO_FACTOR, [session.person_id]);
      await this.factors.forgetRecoveryCodes(tx, session.person_id);
    });
  }

  /** Returns new recovery codes. Throws 409 without a second factor. */
  async newRecoveryCodes(session: SessionRow): Promise<readonly string[]> {
    if (session.totp_sealed === null)
      throw new ConsoleError('CONFLICT', 'There is no second factor. Set one up first.');
    return this.database.transaction(async (tx) => {
      await recordOwnAct(tx, session, 'security.recovery-codes');
      return this.factors.newRecoveryCodes(tx, session.person_id);
    });
  }

  async endSession(session: SessionRow, sessionId: string): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const wasThere = await this.sessions.end(sessionId, session.person_id, tx);
      if (wasThere) await recordOwnAct(tx, session, 'security.end-session');
      return wasThere;
    });
  }

  async endOthers(session: SessionRow): Promise<void> {
    await this.database.transaction(async (tx) => {
      await this.sessions.endAll(session.person_id, session.id, tx);
      await recordOwnAct(tx, session, 'security.end-sessions');
    });
  }

  private async accountOf({ audience, email }: OpenInvitation, db: Queryable = this.database) {
    const [account] = await db.query<Account>(ACCOUNT, [audience, email]);
    return account;
  }

  private async requireOwnPassword(account: Account, password: string, slot: PasswordSlot): Promise<void> {
    if ((await this.passwords.judge(password, account.password_hash, slot)).isRight) return;
    throw new ConsoleError(
      'WRONG_CREDENTIALS',
      'The account with this address has another password. If you have no account, ask the operator for an invitation.',
    );
  }

  /** Returns the id of the invitation's person, created or with the new password if one is given. */
  private async personOf(
    tx: Transaction,
    invitation: OpenInvitation,
    known: Account | undefined,
    hash: string | undefined,
  ): Promise<string> {
    const { audience, email, proves_address: proves } = invitation;
    if (known === undefined) {
      const [made] = await tx.query<{ id: string }>(MAKE, [audience, email, hash, proves]);
      if (made === undefined) throw changedMeanwhile();
      return made.id;
    }
    await tx.query(HOLD, [known.id]);
    const now = await this.accountOf(invitation, tx);
    if (now?.credentials !== known.credentials || isKept(now, invitation) !== (hash === undefined)) {
      throw changedMeanwhile();
    }
    if (hash !== undefined) {
      await tx.query(REPLACE, [known.id, hash, proves]);
      await this.factors.forgetRecoveryCodes(tx, known.id);
    } else if (proves) await tx.query(PROVE, [known.id]);
    return known.id;
  }

  /** Applies a change, ends all other sessions and gives this one a new token, in one transaction. */
  private async applyAndRenew(
    session: SessionRow,
    action: string,
    change: (tx: Transaction) => Promise<void>,
  ): Promise<string> {
    return this.database.transaction(async (tx) => {
      await change(tx);
      await this.sessions.endAll(session.person_id, session.id, tx);
      await recordOwnAct(tx, session, action);
      const token = await this.sessions.renew(session.id, 'signed_in', true, tx);
      if (token === undefined) throw new ConsoleError('SIGN_IN', 'This session has ended. Sign in again.');
      return token;
    });
  }
}

const changedMeanwhile = (): ConsoleError =>
  new ConsoleError('CONFLICT', 'The account changed a moment ago. Open the link again.');

async function recordOwnAct(tx: Transaction, { person_id, email }: SessionRow, action: string): Promise<void> {
  await recordAct(
    tx,
    { actor: email, reason: 'on their own account' },
    { action, subject: person_id, detail: { email } },
  );
}
