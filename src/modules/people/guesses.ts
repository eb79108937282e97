/**
 * Limits guesses at credentials. All unknown devices share one budget per account, and each known device has its own.
 * So an attacker elsewhere cannot lock out a browser that has signed in before. Windows are fixed: further guesses do
 * not extend them. Keys are keyed hashes, for existing and non-existing accounts alike.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { Injectable } from '@nestjs/common';
import { ConsoleError } from '../../domain/console-error.js';
import type { Audience } from '../../domain/audience.js';
import { networkOf } from '../../platform/http/pipeline/source-address.js';
import { CLOCK_IS_STEADY, confirmedNow } from '../../platform/database/confirmed-clock.js';
import { Database } from '../../platform/database/database.js';
import { isDue } from '../../platform/database/lease-sql.js';

const HOUR_SEC = 3600;
const DAY_SEC = 24 * HOUR_SEC;

/** The maximum of each budget within its window. */
const BUDGETS = {
  /** Sign-ins to an account from all unknown devices together. */
  account: { max: 10, windowSec: HOUR_SEC },
  /** Sign-ins and repeated passwords from one known device. */
  device: { max: 10, windowSec: HOUR_SEC },
  /** Sign-ins to any account by unknown devices of one address; for IPv6 by /64, /56 and /48. */
  address: { max: 60, windowSec: HOUR_SEC },
  address56: { max: 120, windowSec: HOUR_SEC },
  address48: { max: 240, windowSec: HOUR_SEC },
  /** Invitations read from one address, counted the same way: tokens must not be guessable over time. */
  invitation: { max: 60, windowSec: HOUR_SEC },
  invitation56: { max: 120, windowSec: HOUR_SEC },
  invitation48: { max: 240, windowSec: HOUR_SEC },
  /** Mails to an address whose owner has not proven it, by any requester. */
  addressMail: { max: 3, windowSec: DAY_SEC },
  /** Such mails requested by the people of one project, or by the operators. */
  placeMail: { max: 20, windowSec: DAY_SEC },
  /** Codes for an account from all unknown devices together. Three of a million codes are valid. */
  codes: { max: 20, windowSec: DAY_SEC },
  deviceCodes: { max: 20, windowSec: DAY_SEC },
} as const;
type Budget = keyof typeof BUDGETS;

/** True if the window has ended, or is longer than possible: a later clock wrote it. */
const IS_OVER = isDue('g.window_ends', '$2');

const TAKE = {
  name: 'take_guess',
  text: `INSERT INTO sign_in_guess AS g (key, guesses, window_ends)
         VALUES ($1, 1, clock_timestamp() + make_interval(secs => $2))
         ON CONFLICT (key) DO UPDATE SET
           guesses = CASE WHEN ${IS_OVER} THEN 1 ELSE least(g.guesses + 1, 1000000) END,
           window_ends = CASE WHEN ${IS_OVER} THEN excluded.window_ends ELSE g.window_ends END
         RETURNING guesses, ceil(extract(epoch FROM window_ends - clock_timestamp()))::int AS left_sec`,
};
const GIVE_BACK = {
  name: 'give_guess_back',
  text: `UPDATE sign_in_guess SET guesses = guesses - 1 WHERE key = ANY ($1::bytea[]) AND guesses > 0`,
};
const FORGET_BATCH = 10_000;
/** The array is built once, so that the limit holds. The subquery for the time lets Postgres use the index. */
export const FORGET = `WITH gone AS (DELETE FROM sign_in_guess WHERE key = ANY (ARRAY(
    SELECT key FROM sign_in_guess WHERE window_ends < (SELECT clock_timestamp()) AND ${CLOCK_IS_STEADY}
     LIMIT ${FORGET_BATCH.toString()} FOR UPDATE SKIP LOCKED))
  RETURNING 1) SELECT count(*)::int AS count FROM gone`;

/** A counted guess. It is returned to the budget if it was right. */
export interface Counted {
  readonly keys: readonly Buffer[];
}

/** A guess at a password. `networks`: the part that was counted for the networks of an unknown device. */
export interface CountedPassword extends Counted {
  readonly networks: Counted;
}

/** The person and device behind a guess. */
export interface Guesser {
  readonly audience: Audience;
  /** The e-mail as given, in lower case; it need not belong to an account. */
  readonly email: string;
  readonly address: string;
  /** The browser's id if it has signed in to this account before. */
  readonly knownDevice: string | undefined;
}

const DEVICE = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/;

@Injectable()
export class Guesses {
  private readonly key: Buffer;

  /** `key`: the second factors' key. A key for hashes and device cookies is derived from it. */
  constructor(
    private readonly database: Database,
    key: Buffer,
  ) {
    this.key = Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), 'tron-energy-rental/guesses/v1', 32));
  }

  /** Counts a guess at a password. Throws 429 if a budget is spent; the guess counts anyway. */
  async countPasswordGuess(guesser: Guesser): Promise<CountedPassword> {
    const { knownDevice, address } = guesser;
    const networks = knownDevice === undefined ? this.budgetsOfNetworks('address', address) : [];
    // Networks first: once their budget is spent, invented accounts leave no rows.
    const counted = await this.spendBudgets([...networks, this.budgetOfPassword(guesser)]);
    return { ...counted, networks: { keys: networks.map(({ key }) => key) } };
  }

  /** Returns the part that was counted for the account or the device, to return it once the code is right too. */
  ownKeys(guesser: Guesser): Counted {
    return { keys: [this.budgetOfPassword(guesser).key] };
  }

  /** Counts a guess at a code, in the same way. */
  async countCodeGuess(guesser: Guesser): Promise<Counted> {
    return this.spendBudgets([
      guesser.knownDevice === undefined
        ? this.budgetOf('codes', guesser.audience, guesser.email)
        : this.budgetOf('deviceCodes', guesser.audience, guesser.email, guesser.knownDevice),
    ]);
  }

  async countInvitationGuess(address: string): Promise<Counted> {
    return this.spendBudgets(this.budgetsOfNetworks('invitation', address));
  }

  /**
   * Counts a mail to an address whose owner has not proven it. Throws 429 if the address or the place reached its daily
   * limit.
   */
  async countAddressMail(email: string, place: string): Promise<Counted> {
    return this.spendBudgets([this.budgetOf('placeMail', place), this.budgetOf('addressMail', email)]);
  }

  async returnGuess({ keys }: Counted): Promise<void> {
    await this.database.query(GIVE_BACK, [keys]);
  }

  /**
   * Returns the cookie that identifies a browser: its id and a signature, valid until the password or second factor
   * changes.
   */
  deviceCookie(device: string, personId: string, credentials: number): string {
    return `${device}.${this.signed(device, personId, credentials)}`;
  }

  /**
   * Returns the browser's id if the cookie was issued for this account in its current state. Takes equally long without
   * an account.
   */
  knownDevice(
    cookie: string | undefined,
    person: { readonly id: string; readonly credentials: number } | undefined,
  ): string | undefined {
    const [, device = '', signature = ''] = DEVICE.exec(cookie ?? '') ?? [];
    const expected = this.signed(device, person?.id ?? '', person?.credentials ?? 0);
    const [given, right] = [Buffer.from(signature.padEnd(expected.length)), Buffer.from(expected)];
    return given.length === right.length && timingSafeEqual(given, right) && person !== undefined ? device : undefined;
  }

  /** Deletes some expired windows, unless the clock is unconfirmed. Returns true if there may be more. */
  async deleteExpired(): Promise<boolean> {
    if ((await confirmedNow(this.database)) === undefined) return false;
    const [gone] = await this.database.query<{ count: number }>(FORGET);
    return gone?.count === FORGET_BATCH;
  }

  private budgetOfPassword({ audience, email, knownDevice }: Guesser) {
    return knownDevice === undefined
      ? this.budgetOf('account', audience, email)
      : this.budgetOf('device', audience, email, knownDevice);
  }

  private signed(device: string, personId: string, credentials: number): string {
    return this.hash('known-device', device, personId, credentials.toString()).toString('base64url');
  }

  private budgetOf(budget: Budget, ...parts: readonly string[]) {
    return { budget, key: this.hash(budget, ...parts) };
  }

  /** Counts by address, and for IPv6 also by the larger networks that one customer may hold. */
  private budgetsOfNetworks(budget: 'address' | 'invitation', address: string) {
    const own = this.budgetOf(budget, networkOf(address));
    if (!isIPv6(address)) return [own];
    return [
      own,
      this.budgetOf(`${budget}56`, networkOf(address, 56)),
      this.budgetOf(`${budget}48`, networkOf(address, 48)),
    ];
  }

  private hash(...parts: readonly string[]): Buffer {
    return createHmac('sha256', this.key).update(JSON.stringify(parts)).digest();
  }

  /** Counts against one budget after the other, until one is spent. */
  private async spendBudgets(counted: readonly { readonly budget: Budget; readonly key: Buffer }[]): Promise<Counted> {
    for (const { budget, key } of counted) {
      const { max, windowSec } = BUDGETS[budget];
      const [row] = await this.database.query<{ guesses: number; left_sec: number }>(TAKE, [key, windowSec]);
      if (row !== undefined && row.guesses <= max) continue;
      const retryAfterSec = Math.max(1, row?.left_sec ?? 1);
      const minutes = Math.ceil(retryAfterSec / 60).toString();
      throw new ConsoleError('TOO_MANY_GUESSES', `Too many attempts. Try again in ${minutes} min.`, { retryAfterSec });
    }
    return { keys: counted.map(({ key }) => key) };
  }
}
