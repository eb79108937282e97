/**
 * How often a person may guess. Unknown devices share one budget for each account, and a known one has its own: who guesses
 * at an account from elsewhere locks nobody out of a browser that has signed in before. Windows are fixed, so that more
 * guesses do not make them longer. Kept under keyed hashes, for accounts that there are and for those there are not.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { Injectable } from '@nestjs/common';
import { ConsoleError } from '../domain/console-error.js';
import type { Audience } from '../domain/audience.js';
import { networkOf } from '../http/pipeline/source-address.js';
import { CLOCK_IS_STEADY, confirmedNow } from '../store/confirmed-clock.js';
import { Database } from '../store/database.js';
import { isDue } from '../store/lease-sql.js';

const HOUR_SEC = 3600;
const DAY_SEC = 24 * HOUR_SEC;

/** What is counted, how often it may be within its window. */
const BUDGETS = {
  /** Sign-ins of an account from all unknown devices together. */
  account: { max: 10, windowSec: HOUR_SEC },
  /** Sign-ins, and passwords given again, of one known device. */
  device: { max: 10, windowSec: HOUR_SEC },
  /** Sign-ins by unknown devices of one address, whatever the account; of IPv6 by /64, /56 and /48. */
  address: { max: 60, windowSec: HOUR_SEC },
  address56: { max: 120, windowSec: HOUR_SEC },
  address48: { max: 240, windowSec: HOUR_SEC },
  /** Invitations read from one address, likewise: their tokens are not to be guessed at leisure. */
  invitation: { max: 60, windowSec: HOUR_SEC },
  invitation56: { max: 120, windowSec: HOUR_SEC },
  invitation48: { max: 240, windowSec: HOUR_SEC },
  /** Mails to an address that may be anybody's, whoever asks for them. */
  addressMail: { max: 3, windowSec: DAY_SEC },
  /** Such mails that the people of one project, or the operators, ask for. */
  placeMail: { max: 20, windowSec: DAY_SEC },
  /** Codes for an account from all unknown devices together; a million codes, three of them right. */
  codes: { max: 20, windowSec: DAY_SEC },
  deviceCodes: { max: 20, windowSec: DAY_SEC },
} as const;
type Budget = keyof typeof BUDGETS;

/** A window is over, or longer than it can be: a later clock wrote it. */
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
const FORGET = `WITH gone AS (DELETE FROM sign_in_guess WHERE key IN
    (SELECT key FROM sign_in_guess WHERE window_ends < clock_timestamp() AND ${CLOCK_IS_STEADY} LIMIT ${FORGET_BATCH.toString()} FOR UPDATE SKIP LOCKED)
  RETURNING 1) SELECT count(*)::int AS count FROM gone`;

/** A guess that was counted; given back when it was right. */
export interface Counted {
  readonly keys: readonly Buffer[];
}

/** Who guesses. */
export interface Guesser {
  readonly audience: Audience;
  /** The e-mail as it was given, in lower case; of nobody too. */
  readonly email: string;
  readonly address: string;
  /** The browser's id, where it has signed in to this account before. */
  readonly knownDevice: string | undefined;
}

const DEVICE = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/;

@Injectable()
export class Guesses {
  private readonly key: Buffer;

  /** `key`: that of the second factors, from which one for hashes and for device cookies is derived. */
  constructor(
    private readonly database: Database,
    key: Buffer,
  ) {
    this.key = Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), 'tron-energy-rental/guesses/v1', 32));
  }

  /** Counts a guess at a password. Throws 429 when a budget is spent, of which it counts nevertheless. */
  async atPassword(who: Guesser): Promise<Counted> {
    return this.take(this.budgetsOfPassword(who));
  }

  /** What a guess at a password was counted under, for giving it back once the code is right too. */
  passwordKeys(who: Guesser): Counted {
    return { keys: this.budgetsOfPassword(who).map(({ key }) => key) };
  }

  /** Counts a guess at a code, likewise. */
  async atCode(who: Guesser): Promise<Counted> {
    return this.take([
      who.knownDevice === undefined
        ? this.of('codes', who.audience, who.email)
        : this.of('deviceCodes', who.audience, who.email, who.knownDevice),
    ]);
  }

  async atInvitation(address: string): Promise<Counted> {
    return this.take(this.ofNetworks('invitation', address));
  }

  /** Counts a mail to an address that may be anybody's. Throws 429 when the address or the place had enough today. */
  async atAddressMail(email: string, place: string): Promise<Counted> {
    return this.take([this.of('placeMail', place), this.of('addressMail', email)]);
  }

  async giveBack({ keys }: Counted): Promise<void> {
    await this.database.query(GIVE_BACK, [keys]);
  }

  /** What a browser is known by from now on: its id and a signature that holds until password or second factor change. */
  deviceCookie(device: string, personId: string, credentials: number): string {
    return `${device}.${this.signed(device, personId, credentials)}`;
  }

  /** The browser's id, if the cookie was given to it for this account as it is; of nobody's it takes as long. */
  knownDevice(
    cookie: string | undefined,
    person: { readonly id: string; readonly credentials: number } | undefined,
  ): string | undefined {
    const [, device = '', signature = ''] = DEVICE.exec(cookie ?? '') ?? [];
    const expected = this.signed(device, person?.id ?? '', person?.credentials ?? 0);
    const [given, right] = [Buffer.from(signature.padEnd(expected.length)), Buffer.from(expected)];
    return given.length === right.length && timingSafeEqual(given, right) && person !== undefined ? device : undefined;
  }

  /** Deletes some of what is past its window, unless the clock is not confirmed; returns whether there may be more. */
  async forgetPast(): Promise<boolean> {
    if ((await confirmedNow(this.database)) === undefined) return false;
    const [gone] = await this.database.query<{ count: number }>(FORGET);
    return gone?.count === FORGET_BATCH;
  }

  /** The address first: once its budget is spent, the accounts that it makes up leave no rows. */
  private budgetsOfPassword(who: Guesser) {
    return who.knownDevice === undefined
      ? [...this.ofNetworks('address', who.address), this.of('account', who.audience, who.email)]
      : [this.of('device', who.audience, who.email, who.knownDevice)];
  }

  private signed(device: string, personId: string, credentials: number): string {
    return this.hash('known-device', device, personId, credentials.toString()).toString('base64url');
  }

  private of(budget: Budget, ...what: readonly string[]) {
    return { budget, key: this.hash(budget, ...what) };
  }

  /** Under the address, and of IPv6 under the larger networks that one customer may hold. */
  private ofNetworks(budget: 'address' | 'invitation', address: string) {
    const own = this.of(budget, networkOf(address));
    if (!isIPv6(address)) return [own];
    return [own, this.of(`${budget}56`, networkOf(address, 56)), this.of(`${budget}48`, networkOf(address, 48))];
  }

  private hash(...parts: readonly string[]): Buffer {
    return createHmac('sha256', this.key).update(JSON.stringify(parts)).digest();
  }

  /** Counts under one after the other, up to the first that is spent. */
  private async take(counted: readonly { readonly budget: Budget; readonly key: Buffer }[]): Promise<Counted> {
    for (const { budget, key } of counted) {
      const { max, windowSec } = BUDGETS[budget];
      const [row] = await this.database.query<{ guesses: number; left_sec: number }>(TAKE, [key, windowSec]);
      if (row !== undefined && row.guesses <= max) continue;
      const retryAfterSec = Math.max(1, row?.left_sec ?? 1);
      const minutes = Math.ceil(retryAfterSec / 60).toString();
      throw new ConsoleError('TOO_MANY_GUESSES', `Too many attempts; try again in ${minutes} min.`, { retryAfterSec });
    }
    return { keys: counted.map(({ key }) => key) };
  }
}
