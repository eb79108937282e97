/** Hashes and verifies passwords by scrypt, two at a time: each takes hundreds of megabytes. */
import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';
import { promisify } from 'node:util';
import { notFit } from '../../domain/console-error.js';
import { PasswordQueue, type PasswordSlot } from './password-queue.js';

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

const BLOCK_SIZE = 8;
const KEY_BYTES = 32;
const SALT_BYTES = 16;
const PASSWORD_LENGTH_MIN = 12;
export const PASSWORD_LENGTH_MAX = 256;
/** Fewer different characters are a pattern, not a password. */
const DIFFERENT_MIN = 5;

/** scrypt$log2 of the cost$salt$key; salt and key in base64. */
const FORM = /^scrypt\$(\d{2})\$([A-Za-z0-9+/]{22}==)\$([A-Za-z0-9+/]{43}=)$/;

export interface Judgement {
  readonly isRight: boolean;
  /** True if the hash has the current cost. Otherwise it is renewed while the password is available. */
  readonly isCurrent: boolean;
}

/** Throws 422 PASSWORD_NOT_FIT for a new password that is too easily guessed. */
export function requireFit(password: string, email: string, field: string): void {
  const text = password.normalize('NFKC');
  if (text.length < PASSWORD_LENGTH_MIN) {
    throw notFit('PASSWORD_NOT_FIT', field, `must have at least ${PASSWORD_LENGTH_MIN.toString()} characters`);
  }
  if (new Set(text).size < DIFFERENT_MIN) throw notFit('PASSWORD_NOT_FIT', field, 'has too few different characters');
  const [name = ''] = email.split('@');
  const lower = text.toLowerCase();
  if (lower.includes(email) || lower === name.repeat(Math.ceil(lower.length / name.length)).slice(0, lower.length)) {
    throw notFit('PASSWORD_NOT_FIT', field, 'must not consist of the e-mail address');
  }
}

export class Passwords {
  private readonly passwordQueue = new PasswordQueue();
  /** Compared with the password of a non-existing account, so that the answer takes equally long. */
  private readonly dummyHash: string;

  constructor(private readonly costLog2: number) {
    const [salt, key] = [randomBytes(SALT_BYTES), randomBytes(KEY_BYTES)];
    this.dummyHash = `scrypt$${costLog2.toString()}$${salt.toString('base64')}$${key.toString('base64')}`;
  }

  /** Throws 503 if too many callers wait already. */
  async hash(password: string, slot: PasswordSlot): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const key = await this.derive(slot, password, salt, this.costLog2);
    return `scrypt$${this.costLog2.toString()}$${salt.toString('base64')}$${key.toString('base64')}`;
  }

  /**
   * Compares a password with `hash`. Without a hash the result is never right and takes equally long. Throws 503 if too
   * many wait.
   */
  async judge(password: string, hash: string | undefined, slot: PasswordSlot): Promise<Judgement> {
    const [, cost = '', salt = '', expected = ''] = FORM.exec(hash ?? this.dummyHash) ?? [];
    const key = await this.derive(slot, password, Buffer.from(salt, 'base64'), Number(cost));
    const isRight = timingSafeEqual(key, Buffer.from(expected, 'base64')) && hash !== undefined;
    return { isRight, isCurrent: Number(cost) === this.costLog2 };
  }

  private async derive(slot: PasswordSlot, password: string, salt: Buffer, costLog2: number): Promise<Buffer> {
    return this.passwordQueue.run(slot, () => {
      const cost = 2 ** costLog2;
      const maxmem = 128 * cost * BLOCK_SIZE + 1024 * 1024;
      return derive(password.normalize('NFKC'), salt, KEY_BYTES, { N: cost, r: BLOCK_SIZE, p: 1, maxmem });
    });
  }
}
