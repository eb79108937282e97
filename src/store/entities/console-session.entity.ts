/** A person signed in to a console, or on the way. A session that ends is deleted, and that is announced to every process. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Audience } from '../../domain/audience.js';
import { TIMESTAMPTZ } from '../columns.js';

/** `second_factor` waits for a code, `enrol` for a second factor to be set up. */
export type SessionStage = 'second_factor' | 'enrol' | 'signed_in';

@Entity('console_session')
export class ConsoleSession {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  /** SHA-256 of the token in the cookie; another one at each step. */
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

  /** The second factor that is being set up. */
  @Column({ type: 'bytea', name: 'pending_totp_sealed', nullable: true })
  pendingTotpSealed!: Buffer | null;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;

  @Column({ ...TIMESTAMPTZ, name: 'seen_at' })
  seenAt!: Date;

  /** When the password was last given. */
  @Column({ ...TIMESTAMPTZ, name: 'authenticated_at' })
  authenticatedAt!: Date;

  @Column({ type: 'text', name: 'source_address' })
  sourceAddress!: string;

  @Column({ type: 'text', name: 'user_agent' })
  userAgent!: string;
}
