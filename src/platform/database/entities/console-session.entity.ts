/**
 * A session of a person in a console, or a sign-in that waits for its next step. An ended session is deleted, and a
 * trigger announces its end to every process.
 */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Audience } from '../../../domain/audience.js';
import { TIMESTAMPTZ } from '../columns.js';

/** `second_factor` waits for a code, `enrol` for the setup of a second factor. */
export type SessionStage = 'second_factor' | 'enrol' | 'signed_in';

@Entity('console_session')
export class ConsoleSession {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  /** SHA-256 of the token in the cookie. Each step of a sign-in replaces the token. */
  @Column({ type: 'bytea', name: 'token_hash' })
  tokenHash!: Buffer;

  @Column({ type: 'text' })
  audience!: Audience;

  @Column({ type: 'uuid', name: 'person_id' })
  personId!: string;

  @Column({ type: 'text' })
  stage!: SessionStage;

  @Column({ type: 'smallint', name: 'wrong_codes' })
  wrongCodes!: number;

  /** The sealed secret of a second factor during its setup. */
  @Column({ type: 'bytea', name: 'pending_totp_sealed', nullable: true })
  pendingTotpSealed!: Buffer | null;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;

  @Column({ ...TIMESTAMPTZ, name: 'seen_at' })
  seenAt!: Date;

  /** The last time that the person signed in or confirmed the sign-in. */
  @Column({ ...TIMESTAMPTZ, name: 'authenticated_at' })
  authenticatedAt!: Date;

  @Column({ type: 'text', name: 'source_address' })
  sourceAddress!: string;

  @Column({ type: 'text', name: 'user_agent' })
  userAgent!: string;
}
