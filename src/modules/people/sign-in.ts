/**
 * Sign-in by password, then by the second factor if there is one. An unknown account, a removed account and a wrong
 * password get the same answer, with the same statements and after the same time.
 */
import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Audience } from '../../domain/audience.js';
import { ConsoleError } from '../../domain/console-error.js';
import { recordAct } from '../../platform/database/audit-log.js';
import { Database } from '../../platform/database/database.js';
import { Guesses, type CountedPassword, type Guesser } from './guesses.js';
import { networkOf } from '../../platform/http/pipeline/source-address.js';
import { Passwords } from './passwords.js';
import type { PasswordSlot } from './password-queue.js';
import { SecondFactors } from './second-factors.js';
import { Sessions, type Origin, type SessionRow } from './sessions.js';

/** The browser of a sign-in, as far as it is known. */
export interface Visitor extends Origin {
  readonly audience: Audience;
  readonly deviceCookie: string | undefined;
  /** Aborted when the browser disconnects. */
  readonly signal?: AbortSignal | undefined;
}

/** The cookies for the browser: the session's token and, once the sign-in is complete, the device cookie. */
export interface SignedIn {
  readonly token: string;
  readonly deviceCookie?: string;
}

interface PersonRow {
  readonly id: string;
  readonly email: string;
  readonly password_hash: string;
  readonly credentials: number;
}

// A person without memberships cannot sign in.
const FIND = {
  name: 'find_person',
  text: `SELECT p.id, p.email, p.password_hash, p.credentials FROM person p WHERE p.audience = $1 AND p.email = $2
            AND EXISTS (SELECT FROM membership m WHERE m.person_id = p.id)`,
};
const KEEP_HASH = `UPDATE person SET password_hash = $3 WHERE id = $1 AND password_hash = $2`;
const HASH_OF = { name: 'password_of', text: `SELECT password_hash FROM person WHERE id = $1` };

const wrongCredentials = (): ConsoleError =>
  new ConsoleError('WRONG_CREDENTIALS', 'The e-mail address or password is wrong.');
const wrongCode = (): ConsoleError =>
  new ConsoleError('WRONG_CODE', 'This code is wrong or was already used. Wait for the next one.');

export const emailOf = (text: string): string => text.trim().toLowerCase();

@Injectable()
export class SignIn {
  constructor(
    private readonly database: Database,
    private readonly passwords: Passwords,
    private readonly guesses: Guesses,
    private readonly factors: SecondFactors,
    private readonly sessions: Sessions,
  ) {}

  /** Signs in by password. Throws 401 WRONG_CREDENTIALS, 429 TOO_MANY_GUESSES and 503. */
  async signInWithPassword(email: string, password: string, visitor: Visitor): Promise<SignedIn> {
    const name = emailOf(email);
    const [person] = await this.database.query<PersonRow>(FIND, [visitor.audience, name]);
    const { device, counted } = await this.countGuess(name, person, visitor);
    const slot = this.slotOf(visitor, person);
    const { isRight, isCurrent } = await this.passwords.judge(password, person?.password_hash, slot);
    if (!isRight || person === undefined) throw wrongCredentials();
    if (!isCurrent) {
      await this.database.query(KEEP_HASH, [
        person.id,
        person.password_hash,
        await this.passwords.hash(password, slot),
      ]);
    }
    return this.begin(person, visitor, { device, counted });
  }

  /** Counts a guess at a password, also for a non-existing account. Throws 429. */
  async countGuess(
    email: string,
    person: { readonly id: string; readonly credentials: number } | undefined,
    visitor: Visitor,
  ): Promise<{ readonly device: string | undefined; readonly counted: CountedPassword }> {
    const device = this.guesses.knownDevice(visitor.deviceCookie, person);
    return { device, counted: await this.guesses.countPasswordGuess(guesserOf(visitor, email, device)) };
  }

  /** Returns the slot of a browser: in the queue of known ones if it has signed in to this account before. */
  slotOf(visitor: Visitor, person: { readonly id: string; readonly credentials: number } | undefined): PasswordSlot {
    const { signal, address } = visitor;
    const device = this.guesses.knownDevice(visitor.deviceCookie, person);
    return device === undefined || person === undefined
      ? { queue: 'unknown', key: networkOf(address, 48), signal }
      : { queue: 'known', key: person.id, signal };
  }

  /** Begins a session in the next stage, after the password or an invitation. */
  async begin(
    person: Pick<PersonRow, 'id' | 'email' | 'credentials'>,
    visitor: Visitor,
    { device, counted }: { readonly device?: string | undefined; readonly counted?: CountedPassword } = {},
  ): Promise<SignedIn> {
    const begun = await this.sessions.begin(person, visitor);
    if (begun === undefined) throw wrongCredentials();
    const { token, stage } = begun;
    if (stage === 'second_factor') {
      // For the account it counts until the code is right too: a known password must not allow endless code guesses.
      // The code may come from another address, which must not regain the guess of this one.
      if (counted !== undefined) await this.guesses.returnGuess(counted.networks);
      return { token };
    }
    if (counted !== undefined) await this.guesses.returnGuess(counted);
    await this.noteSignIn(person.id, person.email, visitor);
    return { token, deviceCookie: this.newDeviceCookie(device, person) };
  }

  /**
   * Checks the code of the second step. Throws 401 WRONG_CODE, or SIGN_IN if the fifth wrong code ended the attempt;
   * 403 and 429.
   */
  async signInWithCode(
    session: SessionRow,
    given: { readonly code?: string; readonly recovery_code?: string },
    visitor: Visitor,
  ): Promise<SignedIn> {
    if (session.stage !== 'second_factor')
      throw new ConsoleError('FORBIDDEN', 'This session does not wait for a code.');
    const device = this.guesses.knownDevice(visitor.deviceCookie, knownBy(session));
    const guesser = guesserOf(visitor, session.email, device);
    const counted = await this.guesses.countCodeGuess(guesser);
    if (!(await this.isCodeRight(session, given))) {
      if (await this.sessions.countWrongCode(session)) {
        throw new ConsoleError('SIGN_IN', 'Five wrong codes ended this attempt. Sign in again.');
      }
      throw wrongCode();
    }
    const token = await this.sessions.renew(session.id, 'signed_in', true);
    if (token === undefined) throw new ConsoleError('SIGN_IN', 'This attempt has ended. Sign in again.');
    await this.guesses.returnGuess(counted);
    await this.guesses.returnGuess(this.guesses.ownKeys(guesser));
    await this.noteSignIn(session.person_id, session.email, visitor);
    return { token, deviceCookie: this.newDeviceCookie(device, knownBy(session)) };
  }

  /**
   * Re-authenticates by password, and by code if there is a second factor. Throws 401 WRONG_CREDENTIALS or WRONG_CODE,
   * and 429.
   */
  async confirmAgain(
    session: SessionRow,
    given: { readonly password: string; readonly code?: string },
    visitor: Visitor,
  ): Promise<SignedIn> {
    await this.requirePassword(session, given.password, visitor);
    if (session.totp_sealed !== null) {
      const device = this.guesses.knownDevice(visitor.deviceCookie, knownBy(session));
      const counted = await this.guesses.countCodeGuess(guesserOf(visitor, session.email, device));
      if (!(await this.factors.use(session.person_id, session.totp_sealed, given.code ?? ''))) throw wrongCode();
      await this.guesses.returnGuess(counted);
    }
    const token = await this.sessions.renew(session.id, session.stage, true);
    if (token === undefined) throw new ConsoleError('SIGN_IN', 'This session has ended. Sign in again.');
    return { token };
  }

  /**
   * Throws 401 WRONG_CREDENTIALS unless it is the password of the session's person. A wrong password counts as a guess.
   */
  async requirePassword(session: SessionRow, password: string, visitor: Visitor): Promise<void> {
    const { counted } = await this.countGuess(session.email, knownBy(session), visitor);
    const [row] = await this.database.query<{ password_hash: string }>(HASH_OF, [session.person_id]);
    if (!(await this.passwords.judge(password, row?.password_hash, slotOfSession(session, visitor))).isRight) {
      throw new ConsoleError('WRONG_CREDENTIALS', 'This is not your password.');
    }
    await this.guesses.returnGuess(counted);
  }

  private async isCodeRight(
    session: SessionRow,
    { code, recovery_code }: { readonly code?: string; readonly recovery_code?: string },
  ): Promise<boolean> {
    if (recovery_code !== undefined) return this.factors.useRecovery(session.person_id, recovery_code);
    return session.totp_sealed !== null && this.factors.use(session.person_id, session.totp_sealed, code ?? '');
  }

  /** Returns the device cookie. A browser known before keeps its id, and so its budget. */
  private newDeviceCookie(
    device: string | undefined,
    person: { readonly id: string; readonly credentials: number },
  ): string {
    return this.guesses.deviceCookie(device ?? randomBytes(16).toString('base64url'), person.id, person.credentials);
  }

  private async noteSignIn(personId: string, email: string, { address, userAgent }: Visitor): Promise<void> {
    const detail = { address, user_agent: userAgent };
    await this.database.transaction((tx) =>
      recordAct(tx, { actor: email, reason: 'signed in' }, { action: 'console.sign-in', subject: personId, detail }),
    );
  }
}

/** Returns the slot of a session that repeats its password: its person is known on any browser. */
export const slotOfSession = ({ person_id: key }: SessionRow, { signal }: Visitor): PasswordSlot => ({
  queue: 'known',
  key,
  signal,
});

const knownBy = ({ person_id, credentials }: SessionRow) => ({ id: person_id, credentials });

const guesserOf = ({ audience, address }: Visitor, email: string, knownDevice: string | undefined): Guesser => ({
  audience,
  email,
  address,
  knownDevice,
});
