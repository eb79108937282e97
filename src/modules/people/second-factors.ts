/**
 * The second factor: time-based codes (RFC 6238) by otplib, with secrets sealed to their person, and recovery codes.
 */
import { createHash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { generateSecret, generateURI, verifySync } from 'otplib';
import { Sealers } from '../../platform/support/sealers.js';
import { nowMs } from '../../platform/support/clock.js';
import { reseal, secretsIn, type ResealCount } from '../../platform/database/resealing.js';
import { Database, type Queryable } from '../../platform/database/database.js';

/** A code is accepted one step early or late: clocks differ, and typing takes time. */
const TOLERANCE_SEC = 30;
const CODE = /^\d{6}$/;
const RECOVERY_CODES = 10;
const RECOVERY_BYTES = 10;
/** 32 characters, without l and o, which are mistaken for digits. */
const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789';

// A step is used once. Of two requests with the same code, the second finds the step used.
const USE_STEP = {
  name: 'use_totp_step',
  text: `UPDATE person SET totp_step = $2 WHERE id = $1 AND totp_step < $2 AND totp_sealed IS NOT NULL RETURNING id`,
};
const USE_RECOVERY = {
  name: 'use_recovery_code',
  text: `DELETE FROM recovery_code WHERE person_id = $1 AND code_hash = $2 RETURNING code_hash`,
};
// Serialised: each set deletes the codes of the one before.
const HOLD = `SELECT FROM person WHERE id = $1 FOR NO KEY UPDATE`;
const FORGET_RECOVERY = `DELETE FROM recovery_code WHERE person_id = $1`;
const KEEP_RECOVERY = `INSERT INTO recovery_code (code_hash, person_id, audience)
  SELECT unnest($2::bytea[]), p.id, p.audience FROM person p WHERE p.id = $1`;

@Injectable()
export class SecondFactors {
  constructor(
    private readonly database: Database,
    private readonly sealers: Sealers,
  ) {}

  /** Returns a new secret, sealed to its person, and the URL for an authenticator. */
  make(personId: string, label: string, issuer: string): { sealed: Buffer; secret: string; url: string } {
    const secret = generateSecret();
    const sealed = this.sealers.secondFactor.seal(Buffer.from(secret), personId);
    return { sealed, secret, url: generateURI({ issuer, label, secret }) };
  }

  /** Returns the time step of a code, or undefined for a wrong code. Does not use it up. */
  stepOf(personId: string, sealed: Buffer, code: string): bigint | undefined {
    const secret = this.sealers.secondFactor.open(sealed, personId);
    if (secret === undefined) throw new Error(`the second factor of ${personId} does not open under this key`);
    if (!CODE.test(code)) return undefined;
    const epoch = Math.floor(nowMs() / 1000);
    const found = verifySync({ secret: secret.toString(), token: code, epoch, epochTolerance: TOLERANCE_SEC });
    secret.fill(0);
    return found.valid && 'timeStep' in found ? BigInt(found.timeStep) : undefined;
  }

  /** Returns true if the code is right and its step is unused, and marks the step as used. */
  async use(personId: string, sealed: Buffer, code: string): Promise<boolean> {
    const step = this.stepOf(personId, sealed, code);
    return step !== undefined && (await this.database.query(USE_STEP, [personId, step.toString()])).length === 1;
  }

  /** Returns true if this is one of the person's recovery codes, and deletes it. */
  async useRecovery(personId: string, code: string): Promise<boolean> {
    return (await this.database.query(USE_RECOVERY, [personId, hashOf(code)])).length === 1;
  }

  /** Replaces all recovery codes with ten new ones. Only hashes are stored. */
  async newRecoveryCodes(tx: Queryable, personId: string): Promise<readonly string[]> {
    const codes = Array.from({ length: RECOVERY_CODES }, newCode);
    await tx.query(HOLD, [personId]);
    await tx.query(FORGET_RECOVERY, [personId]);
    await tx.query(KEEP_RECOVERY, [personId, codes.map(hashOf)]);
    return codes;
  }

  async forgetRecoveryCodes(tx: Queryable, personId: string): Promise<void> {
    await tx.query(FORGET_RECOVERY, [personId]);
  }

  /** Seals every secret under the newest key. Only counts them unless `isReplacing`. */
  async reseal(isReplacing: boolean): Promise<ResealCount> {
    return reseal(secretsIn(this.database, 'person', 'totp_sealed'), this.sealers.secondFactor, isReplacing);
  }
}

/** 80 bits, in four groups. */
function newCode(): string {
  const bits = BigInt(`0x${randomBytes(RECOVERY_BYTES).toString('hex')}`);
  const letters = Array.from({ length: 16 }, (_, place) => LETTERS[Number((bits >> BigInt(place * 5)) & 31n)] ?? '');
  return letters.join('').replace(/(.{4})(?=.)/g, '$1-');
}

/** Ignores spaces, dashes and capitals. */
function hashOf(code: string): Buffer {
  return createHash('sha256').update('recovery-code:').update(code.toLowerCase().replace(/[\s-]/g, '')).digest();
}
