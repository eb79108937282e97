/**
 * Schedules password hashing. Sign-ins from known browsers and re-authentication have a separate queue, so that a crowd
 * of unknown browsers delays them by at most one password. No single network or person can fill a queue.
 */
import { serviceBusy } from '../../domain/errors.js';
import { ClientGoneError } from '../../platform/http/body/read-body.js';

/** Each hash takes a hundred megabytes or more. */
const CONCURRENT_MAX = 2;
/** Waiting in each queue, and per network or person in it. */
const WAITING_MAX = 32;
const WAITING_MAX_EACH = 4;
/** While both queues wait, one of this many turns goes to unknown browsers. */
const UNKNOWN_EVERY = 4;

export interface PasswordSlot {
  /** `known`: a browser that has signed in to the account before, or a session that repeats its password. */
  readonly queue: 'known' | 'unknown';
  /** The person, or the network of an unknown browser, that the place in the queue counts for. */
  readonly key: string;
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal | undefined;
}

interface Waiting {
  readonly key: string;
  readonly start: () => void;
}

export class PasswordQueue {
  private working = 0;
  private knownInARow = 0;
  private readonly queues: Readonly<Record<PasswordSlot['queue'], Waiting[]>> = { known: [], unknown: [] };

  /** Runs `work` in its turn. Throws 503 if the queue is full, and ClientGoneError once the caller has disconnected. */
  async run<T>(slot: PasswordSlot, work: () => Promise<T>): Promise<T> {
    await this.begin(slot);
    try {
      return await work();
    } finally {
      const next = this.next();
      if (next === undefined) this.working -= 1;
      else next.start();
    }
  }

  private async begin({ queue, key, signal }: PasswordSlot): Promise<void> {
    if (signal?.aborted === true) throw new ClientGoneError('The caller disconnected before the password was checked.');
    if (this.working < CONCURRENT_MAX) {
      this.working += 1;
      return;
    }
    const waiting = this.queues[queue];
    const ofKey = waiting.filter((each) => each.key === key).length;
    if (waiting.length >= WAITING_MAX || ofKey >= WAITING_MAX_EACH) {
      throw serviceBusy('Too many people are signing in at this moment');
    }
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        const place = waiting.indexOf(entry);
        if (place >= 0) waiting.splice(place, 1);
        reject(new ClientGoneError('The caller disconnected while the password check was waiting.'));
      };
      const entry: Waiting = {
        key,
        start: () => {
          signal?.removeEventListener('abort', leave);
          resolve();
        },
      };
      waiting.push(entry);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  private next(): Waiting | undefined {
    const { known, unknown } = this.queues;
    const isUnknownsTurn = known.length === 0 || (unknown.length > 0 && this.knownInARow >= UNKNOWN_EVERY - 1);
    this.knownInARow = isUnknownsTurn ? 0 : this.knownInARow + 1;
    return isUnknownsTurn ? unknown.shift() : known.shift();
  }
}
