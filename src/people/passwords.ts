/** Passwords as scrypt keeps them. Two are worked out at a time, in turns: each takes memory by the hundred megabytes. */
import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';
import { promisify } from 'node:util';
import { notFit } from '../domain/console-error.js';
import { PasswordTurns, type PasswordTurn } from './password-turns.js';

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

const BLOCK_SIZE = 8;
const KEY_BYTES = 32;
const SALT_BYTES = 16;
const PASSWORD_LENGTH_MIN = 12;
export const PASSWORD_LENGTH_MAX = 256;
/** Fewer different characters than this are a pattern, not a password. */
const DIFFERENT_MIN = 5;

/** scrypt$log2 of the cost$salt$key, both in base64. */
const FORM = /^scrypt\$(\d{2})\$([A-Za-z0-9+/]{22}==)\$([A-Za-z0-9+/]{43}=)$/;

export interface Judgement {
  readonly isRight: boolean;
  /** Whether the hash has today's cost; otherwise it is to be made anew while the password is at hand. */
  readonly isCurrent: boolean;
}

/** Throws 422 PASSWORD_NOT_FIT for a new password that is too easily guessed. */
export function requireFit(password: string, email: string, field: string): void {
  const text = password.normalize('NFKC');
  if (text.length < PASSWORD_LENGTH_MIN) {
    throw notFit('PASSWORD_NOT_FIT', field, `must have at least ${PASSWORD_LENGTH_MIN.toString()} characters`);
  }
  if (new Set(text).size < DIFFERENT_MIN) throw notFit('PASSWORD_NOT_FIT', field, 'repeats too few characters');
  const [name = ''] = email.split('@');
  const lower = text.toLowerCase();
  if (lower.includes(email) || lower === name.repeat(Math.ceil(lower.length / name.length)).slice(0, lower.length)) {
    throw notFit('PASSWORD_NOT_FIT', field, 'must not be made of the e-mail address');
  }
}

export class Passwords {
  private readonly turns = new PasswordTurns();
  /** What a password is held against where there is none, so that it takes as long. */
  private readonly nobodys: string;

  constructor(private readonly costLog2: number) {
    const [salt, key] = [randomBytes(SALT_BYTES), randomBytes(KEY_BYTES)];
    this.nobodys = `scrypt$${costLog2.toString()}$${salt.toString('base64')}$${key.toString('base64')}`;
  }

  /** Throws 503 when too many wait already. */
  async hash(password: string, turn: PasswordTurn): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const key = await this.derive(turn, password, salt, this.costLog2);
    return `scrypt$${this.costLog2.toString()}$${salt.toString('base64')}$${key.toString('base64')}`;
  }

  /** Whether `hash` is of this password; of nobody's it never is, and takes as long. Throws 503 when too many wait already. */
  async judge(password: string, hash: string | undefined, turn: PasswordTurn): Promise<Judgement> {
    const [, cost = '', salt = '', expected = ''] = FORM.exec(hash ?? this.nobodys) ?? [];
    const key = await this.derive(turn, password, Buffer.from(salt, 'base64'), Number(cost));
    const isRight = timingSafeEqual(key, Buffer.from(expected, 'base64')) && hash !== undefined;
    return { isRight, isCurrent: Number(cost) === this.costLog2 };
  }

  private async derive(turn: PasswordTurn, password: string, salt: Buffer, costLog2: number): Promise<Buffer> {
    return this.turns.run(turn, () => {
      const cost = 2 ** costLog2;
      const maxmem = 128 * cost * BLOCK_SIZE + 1024 * 1024;
      return derive(password.normalize('NFKC'), salt, KEY_BYTES, { N: cost, r: BLOCK_SIZE, p: 1, maxmem });
    });
  }
}
